// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/advice/memory_problems.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/units.h"
#include "core/experiment/rank_duties.h"
#include "core/topology/network.h"

namespace trainyard::session {
namespace {

std::string path_of(const topology::Topology& topology, const std::string& device) {
  for (std::size_t h = 0; h < topology.hosts.size(); ++h)
    for (std::size_t d = 0; d < topology.hosts[h].devices.size(); ++d)
      if (topology.hosts[h].devices[d].name == device)
        return fmt::format("topology.hosts[{}].devices[{}].memory_bytes", h, d);
  return "topology.hosts";
}

std::string text_of(std::int64_t bytes) { return base::format_bytes(static_cast<double>(bytes)); }

// Returns the cost of a step as text: "12 ms" or, if the sent bytes are known, "12 ms and 3.4 MB on
// links".
std::string text_of(const StepCost& step) {
  return step.wire_bytes >= 0
             ? fmt::format("{} and {} on links", base::format_seconds(step.seconds),
                           text_of(step.wire_bytes))
             : base::format_seconds(step.seconds);
}

// Returns a list of settings as text, such as "a=1 with b=2 and c=3".
std::string text_of(const std::vector<std::string>& settings) {
  std::string text = settings.front();
  for (std::size_t i = 1; i < settings.size(); ++i)
    text += (i == 1 ? " with " : i + 1 < settings.size() ? ", " : " and ") + settings[i];
  return text;
}

std::string text_of(const MemoryOption& way) {
  return fmt::format("{} ({}; {}{})", text_of(way.settings), text_of(way.bytes),
                     way.step ? fmt::format("{} per step; ", text_of(*way.step)) : "",
                     way.other_cost);
}

std::string advice(const experiment::Resolved& e, int rank,
                   const std::vector<std::int64_t>& lacking, const CostOfStep& cost) {
  const topology::Network network(e.document.topology);
  if (e.servers > 0 && network.device(e.ranks[static_cast<std::size_t>(rank)]).role ==
                           topology::Role::parameter_server)
    return "Give the device more memory, draw more servers, or use a smaller model.";
  if (e.is_evaluator(rank)) return "Give the device more memory, or use a smaller model.";
  const std::vector<MemoryOption> ways = options_that_fit(e, lacking, cost);
  if (ways.empty() && (e.servers > 0 || e.evaluators > 0))
    return "Give the device more memory, or use a smaller model or batch.";
  if (ways.empty())
    return "No other setting fits at this global batch. Give the device more memory, draw more "
           "devices, or use a smaller model or batch.";
  const auto drawn = cost ? cost(e) : base::fail({});
  std::string text =
      drawn ? fmt::format("The simulator predicts {} per step as drawn. ", text_of(*drawn)) : "";
  text +=
      "The following settings fit. Each is listed with its cost and the most memory that a device "
      "lacking memory now would need: ";
  for (const MemoryOption& way : ways) text += (&way == &ways.front() ? "" : "; ") + text_of(way);
  return text + ". Or give the device more memory.";
}

}  // namespace

std::vector<std::int64_t> excess_bytes(const experiment::Resolved& e,
                                       const std::vector<run::MemoryUse>& memory) {
  const topology::Network network(e.document.topology);
  std::vector<std::int64_t> list;
  for (std::size_t rank = 0; rank < memory.size(); ++rank)
    list.push_back(std::max<std::int64_t>(
        0, memory[rank].total() - network.device(e.ranks[rank]).memory_bytes));
  return list;
}

base::Problems find_memory_problems(const experiment::Resolved& e,
                                    const std::vector<run::MemoryUse>& memory,
                                    const CostOfStep& cost) {
  base::Problems problems;
  const topology::Network network(e.document.topology);
  const std::vector<std::int64_t> lacking = excess_bytes(e, memory);
  for (int rank = 0; std::cmp_less(rank, memory.size()); ++rank) {
    const auto number = static_cast<std::size_t>(rank);
    if (lacking[number] == 0) continue;
    const topology::Device& device = network.device(e.ranks[number]);
    // Shows exact bytes if the needed and the available memory look the same when rounded.
    const bool alike = text_of(memory[number].total()) == text_of(device.memory_bytes);
    const auto room = [alike](std::int64_t bytes) {
      return alike ? base::format_count(bytes) + " B" : text_of(bytes);
    };
    const std::string who =
        fmt::format("{} (rank {}, {})", device.name, rank, experiment::duty_of(e.document, rank));
    problems.push_back(
        {"out_of_memory", base::ProblemCode::bad_input, path_of(e.document.topology, device.name),
         fmt::format(
             "{} would run out of memory: its buffers need {}, which is {} more than its {}", who,
             run::describe(memory[number]), text_of(lacking[number]), room(device.memory_bytes)),
         fmt::format("{} B or more", base::format_count(memory[number].total())),
         problems.empty() ? advice(e, rank, lacking, cost) : ""});
  }
  return problems;
}

base::Problems find_memory_problems(const experiment::Resolved& e, const plan::Plan& plan,
                                    const CostOfStep& cost) {
  return find_memory_problems(e, memory_of(plan), cost);
}

}  // namespace trainyard::session
