// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/room.h"

#include <algorithm>

#include "core/base/units.h"
#include "core/experiment/duties.h"

namespace trainyard::session {
namespace {

std::string path_of(const topology::Topology& topology, const std::string& device) {
  for (std::size_t h = 0; h < topology.hosts.size(); ++h)
    for (std::size_t d = 0; d < topology.hosts[h].devices.size(); ++d)
      if (topology.hosts[h].devices[d].name == device) return "topology.hosts[" + std::to_string(h) + "].devices[" + std::to_string(d) + "].memory_bytes";
  return "topology.hosts";
}

std::string said(std::int64_t bytes) { return base::format_bytes(static_cast<double>(bytes)); }

// "12 ms", "12 ms and 3.4 MB on links"
std::string said(const StepCost& step) {
  return base::format_seconds(step.seconds) + (step.wire_bytes >= 0 ? " and " + said(step.wire_bytes) + " on links" : "");
}

// "a=1 with b=2 and c=3"
std::string said(const std::vector<std::string>& settings) {
  std::string text = settings.front();
  for (std::size_t i = 1; i < settings.size(); ++i) text += (i == 1 ? " with " : i + 1 < settings.size() ? ", " : " and ") + settings[i];
  return text;
}

std::string said(const Way& way) {
  return said(way.settings) + " (at most " + said(way.bytes) + " a device; " + (way.step ? said(*way.step) + " a step; " : "") + way.besides + ")";
}

std::string advice(const experiment::Resolved& e, int rank, const CostOfStep& cost) {
  if (e.serves(rank)) return "Give it more memory, draw more servers, or take a smaller model.";
  if (e.evaluates_alone(rank)) return "Give it more memory, or take a smaller model.";
  const std::vector<Way> ways = ways_to_fit(e, cost);
  if (ways.empty()) return "Give it more memory, or take a smaller model or batch.";
  const auto drawn = cost ? cost(e) : base::fail({});
  std::string text = drawn ? "As drawn a step would take " + said(*drawn) + ", by the simulator. These fit: " : "These fit: ";
  for (const Way& way : ways) text += (&way == &ways.front() ? "" : "; ") + said(way);
  return text + ". Or give it more memory.";
}

const topology::Device& device_of(const experiment::Resolved& e, const topology::Network& network, int rank) {
  return network.device(e.ranks[static_cast<std::size_t>(rank)]);
}

std::int64_t beyond(const run::MemoryUse& use, const topology::Device& device) { return std::max<std::int64_t>(0, use.total() - device.memory_bytes); }

}  // namespace

std::int64_t lacking_bytes(const experiment::Resolved& e, const plan::Plan& plan, int rank) {
  const topology::Network network(e.document.topology);
  return beyond(memory_of(plan, rank), device_of(e, network, rank));
}

base::Problems room_problems(const experiment::Resolved& e, const plan::Plan& plan, const CostOfStep& cost) {
  base::Problems problems;
  const topology::Network network(e.document.topology);
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const topology::Device& device = device_of(e, network, rank);
    const run::MemoryUse use = memory_of(plan, rank);
    const std::int64_t lacks = beyond(use, device);
    if (lacks == 0) continue;
    const std::string who = device.name + " (rank " + std::to_string(rank) + ", " + std::string(experiment::duty_of(e.document, rank)) + ")";
    problems.push_back({base::ProblemCode::bad_input, path_of(e.document.topology, device.name),
                        who + " would be out of memory: its buffers take " + run::in_words(use) + "; that is " + said(lacks) + " more than the " +
                            said(device.memory_bytes) + " that it has",
                        said(use.total()) + " or more", problems.empty() ? advice(e, rank, cost) : ""});
  }
  return problems;
}

}  // namespace trainyard::session
