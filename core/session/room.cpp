// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/room.h"

#include "core/base/units.h"
#include "core/experiment/duties.h"
#include "core/run/layout.h"

namespace trainyard::session {
namespace {

std::string path_of(const topology::Topology& topology, const std::string& device) {
  for (std::size_t h = 0; h < topology.hosts.size(); ++h)
    for (std::size_t d = 0; d < topology.hosts[h].devices.size(); ++d)
      if (topology.hosts[h].devices[d].name == device) return "topology.hosts[" + std::to_string(h) + "].devices[" + std::to_string(d) + "].memory_bytes";
  return "topology.hosts";
}

const char* advice(const experiment::Resolved& e, int rank) {
  if (e.serves(rank)) return "Give it more memory, draw more servers, or take a smaller model.";
  return e.evaluates_alone(rank) ? "Give it more memory, or take a smaller model." : "Give it more memory, or take a smaller model or batch.";
}

}  // namespace

base::Problems room_problems(const experiment::Resolved& e, const plan::Plan& plan) {
  base::Problems problems;
  const topology::Network network(e.document.topology);
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const topology::Device& device = network.device(e.ranks[static_cast<std::size_t>(rank)]);
    const run::Layout layout = run::layout(plan.rank_plan(rank));
    const std::int64_t needs = layout.private_bytes + layout.shared_bytes;
    if (needs <= device.memory_bytes) continue;
    const std::string who = device.name + " (rank " + std::to_string(rank) + ", " + std::string(experiment::duty_of(e.document, rank)) + ")";
    problems.push_back({base::ProblemCode::bad_input, path_of(e.document.topology, device.name),
                        who + " would be out of memory: its buffers take " + base::format_bytes(static_cast<double>(needs)) + ", and it has " +
                            base::format_bytes(static_cast<double>(device.memory_bytes)),
                        base::format_bytes(static_cast<double>(needs)) + " or more", advice(e, rank)});
  }
  return problems;
}

}  // namespace trainyard::session
