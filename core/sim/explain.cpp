// SPDX-License-Identifier: GPL-3.0-or-later
// Determines the bounds of a step. Each bound is the least time that a step takes if everything
// else overlaps perfectly.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <tuple>

#include "core/base/units.h"
#include "core/sim/outcome.h"

namespace trainyard::sim {
namespace {

using topology::Network;

// Factor by which a lower bound may exceed the step time. With servers, the step time is the mean
// time between updates, and some updates extend beyond the simulated interval.
constexpr double kOverTotal = 1.005;

// Returns the lower bound that the busiest thread of a rank imposes on the step time. If each lane
// has its own engine, it is the bound of the busiest lane. Offload copies do not count, because
// they run on a separate thread.
Bound device_bound(const Simulation& simulation, std::string_view program,
                   LanesPerThread lanes_per_thread) {
  Bound bound;
  bound.kind = BoundKind::device;
  for (const auto& rank : simulation.ranks()) {
    const RankModel& model = rank->model();
    std::vector<Picoseconds> busy(lanes_per_thread == LanesPerThread::all ? 1 : model.lanes.size());
    for (const OpModel& op : model.programs[static_cast<std::size_t>(model.program(program))].ops)
      if (model.lanes[op.lane.index()].kind != plan::LaneKind::copy)
        busy[busy.size() == 1 ? 0 : op.lane.index()] += op.takes;
    const double most = seconds(*std::max_element(busy.begin(), busy.end()));
    if (bound.rank < 0 || most > bound.seconds) bound.rank = model.rank, bound.seconds = most;
  }
  return bound;
}

// Returns the bound of the group whose rounds have the largest sum of latencies. The rounds of a
// group are sequential, and each round takes at least the latency of its slowest message.
Bound latency_bound(const Simulation& simulation, std::string_view program) {
  Bound bound;
  bound.kind = BoundKind::latency;
  for (const auto& rank : simulation.ranks()) {
    const RankModel& model = rank->model();
    // for each send lane: the longest latency of a message in each of its rounds
    std::map<int, std::map<std::pair<int, int>, Picoseconds>> lanes;
    for (const OpModel& op : model.programs[static_cast<std::size_t>(model.program(program))].ops) {
      if (op.kind != plan::OpKind::send) continue;
      Picoseconds& slowest = lanes[op.lane.value][{op.bucket, op.round}];
      slowest = std::max(slowest, simulation.world().wire.latency(model.rank, op.peers.front()));
    }
    for (const auto& [lane, rounds] : lanes) {
      Picoseconds all = 0;
      for (const auto& [round, slowest] : rounds) all += slowest;
      if (bound.rank < 0 || seconds(all) > bound.seconds)
        bound.rank = model.rank, bound.seconds = seconds(all),
        bound.rounds = static_cast<std::int64_t>(rounds.size());
    }
  }
  return bound;
}

// Returns the bound of the group whose collectives take longest. Collectives of one group are
// sequential; different groups are independent.
Bound engine_bound(const Simulation& simulation, std::string_view program) {
  Bound bound;
  bound.kind = BoundKind::engine;
  for (const auto& rank : simulation.ranks()) {
    const RankModel& model = rank->model();
    std::map<int, std::pair<Picoseconds, std::int64_t>> groups;
    for (const OpModel& op : model.programs[static_cast<std::size_t>(model.program(program))].ops) {
      if (!plan::coarse(op.kind)) continue;
      groups[op.channel].first += simulation.world().pending_collectives.known_duration(op);
      ++groups[op.channel].second;
    }
    for (const auto& [group, all] : groups)
      if (bound.rank < 0 || seconds(all.first) > bound.seconds)
        bound.rank = model.rank, bound.seconds = seconds(all.first), bound.rounds = all.second;
  }
  return bound;
}

// The two parts of the explanation of a step time: the name of a bound, such as "Compute", and the
// reason for its time, such as "cpu2 is busy for 461 us".
struct Words {
  std::string what, how;
};

Words device_text(const Bound& bound, const Outcome& outcome, const Network& network) {
  const RankUse& use = outcome.ranks[static_cast<std::size_t>(bound.rank)];
  const std::string device =
      network.device(network.ranks()[static_cast<std::size_t>(bound.rank)]).name;
  const double most = std::max({use.compute_seconds, use.input_seconds, use.adding_seconds});
  const std::string what = most == use.compute_seconds ? "Compute"
                           : most == use.input_seconds ? "Loading the batch"
                                                       : "Reduction of received data";
  return {what, fmt::format("{} is busy for {}", device, base::format_seconds(bound.seconds))};
}

Words edge_text(const Bound& bound, const Network& network) {
  std::string name = edge_name(network, bound.edge);
  name.front() = 'T';
  return {name,
          fmt::format("{} over {} take {}", base::format_bytes(static_cast<double>(bound.bytes)),
                      base::with_unit(bound.bandwidth_bits_per_second, "bit/s"),
                      base::format_seconds(bound.seconds))};
}

Words latency_text(const Bound& bound) {
  return {"Latency",
          fmt::format("{} of messages in sequence {} {}", base::counted(bound.rounds, "round"),
                      bound.rounds == 1 ? "takes" : "take", base::format_seconds(bound.seconds))};
}

Words engine_text(const Bound& bound, const Outcome& outcome) {
  return {fmt::format("Communication by {}", outcome.engine),
          fmt::format("{} {} {} (estimated as a ring)", base::counted(bound.rounds, "collective"),
                      bound.rounds == 1 ? "takes" : "in sequence take",
                      base::format_seconds(bound.seconds))};
}

Words words(const Bound& bound, const Outcome& outcome, const Network& network) {
  switch (bound.kind) {
    case BoundKind::device: return device_text(bound, outcome, network);
    case BoundKind::edge: return edge_text(bound, network);
    case BoundKind::latency: return latency_text(bound);
    case BoundKind::engine: return engine_text(bound, outcome);
  }
  return {};
}

}  // namespace

// Edges whose times differ by less than kEqualTimes, such as parallel links, are ordered by their
// bandwidth and by the names of their ends, so that the order of links in the drawing has no
// effect.
Bound edge_bound(const Outcome& outcome, const Network& network) {
  constexpr double kEqualTimes = 1e-3;
  const auto edge_of = [&](const EdgeUse& use) -> const topology::Edge& {
    return network.edges()[use.edge.index()];
  };
  const auto needs = [&](const EdgeUse& use) {
    return static_cast<double>(use.step_bytes) * 8 / edge_of(use).bandwidth_bits_per_second;
  };
  Bound bound;
  bound.kind = BoundKind::edge;
  double longest = 0;
  for (const EdgeUse& use : outcome.edges) longest = std::max(longest, needs(use));
  const EdgeUse* slowest = nullptr;
  const auto rank = [&](const EdgeUse& use) {
    const topology::Edge& edge = edge_of(use);
    return std::tuple(-edge.bandwidth_bits_per_second, std::min(edge.from, edge.to),
                      std::max(edge.from, edge.to), -use.step_bytes);
  };
  for (const EdgeUse& use : outcome.edges)
    if (needs(use) >= (1 - kEqualTimes) * longest && (!slowest || rank(use) < rank(*slowest)))
      slowest = &use;
  if (!slowest) return bound;
  bound.edge = slowest->edge;
  bound.bus = edge_of(*slowest).link < 0;
  bound.seconds = needs(*slowest);
  bound.bytes = slowest->step_bytes;
  bound.bandwidth_bits_per_second = edge_of(*slowest).bandwidth_bits_per_second;
  return bound;
}

std::string edge_name(const Network& network, topology::EdgeId edge) {
  const topology::Edge& drawn = network.edges()[edge.index()];
  return drawn.link < 0 ? fmt::format("the bus of {} at {}", drawn.to, drawn.from)
                        : fmt::format("the link {} - {}", std::min(drawn.from, drawn.to),
                                      std::max(drawn.from, drawn.to));
}

std::vector<Bound> bounds(const Simulation& simulation, const Outcome& outcome,
                          std::string_view program, const Network& network,
                          LanesPerThread lanes_per_thread) {
  std::vector<Bound> all{device_bound(simulation, program, lanes_per_thread)};
  if (!outcome.edges.empty()) {
    all.push_back(edge_bound(outcome, network));
    all.push_back(latency_bound(simulation, program));
  }
  if (!outcome.engine.empty()) all.push_back(engine_bound(simulation, program));
  std::stable_sort(all.begin(), all.end(),
                   [](const Bound& a, const Bound& b) { return a.seconds > b.seconds; });
  return all;
}

// Returns the sentence that explains the time of a step. If the longest bound is less than half of
// the step, no single bound explains the step, because the parts of the step are sequential.
std::string explain(const Outcome& outcome, const Network& network) {
  const Bound& bound = outcome.bounds.front();
  const std::string step = base::format_seconds(outcome.median_step_seconds);
  auto [what, how] = words(bound, outcome, network);
  if (bound.seconds > kOverTotal * outcome.median_step_seconds)
    return fmt::format("{} bounds the step of {}: {} per step, without idle time.", what, step,
                       how);
  if (bound.seconds >= outcome.median_step_seconds / 2)
    return fmt::format("{} bounds the step: {} of a total of {}.", what, how, step);
  what.front() = static_cast<char>(std::tolower(what.front()));
  return fmt::format(
      "No single part bounds the step of {}: its parts run in sequence. The longest is {}: {}.",
      step, what, how);
}

}  // namespace trainyard::sim
