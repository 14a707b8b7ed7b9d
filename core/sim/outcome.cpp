// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/outcome.h"

#include <numeric>

#include "core/plan/engine_lane.h"

namespace trainyard::sim {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<WireBytes> wire_bytes(const Wire& wire, int ranks) {
  std::vector<WireBytes> all;
  for (int from = 0; from < ranks; ++from)
    for (const auto& [to, traffic] : wire.traffic(from)) {
      const auto step = wire.sent().first_step.find({from, to});
      if (const std::int64_t step_bytes = step == wire.sent().first_step.end() ? 0 : step->second;
          step_bytes + traffic.sent > 0)
        all.push_back({from, to, step_bytes, traffic.sent});
    }
  return all;
}

std::vector<EdgeUse> edge_uses(const Wire& wire, Picoseconds now) {
  std::vector<EdgeUse> uses;
  const Links& links = wire.links();
  for (DirectedLink way = 0; way < links.ways(); ++way)
    if (links.bytes(way) > 0)
      uses.push_back({topology::EdgeId(way / 2), way % 2 == 0,
                      wire.sent().first_step_ways[static_cast<std::size_t>(way)], links.bytes(way),
                      seconds(links.busy(way)) / seconds(now)});
  return uses;
}

double encoding_seconds(const RankModel& model, std::string_view program) {
  double sum = 0;
  for (const OpModel& op : model.programs[static_cast<std::size_t>(model.program(program))].ops)
    if (op.kind == plan::OpKind::encode || op.kind == plan::OpKind::decode)
      sum += seconds(op.takes);
  return sum;
}

RankUse rank_use(const VirtualRank& rank, std::int64_t steps, const topology::Device& device) {
  const Times& times = rank.training_times();
  const auto mean = [&](Activity activity) {
    return seconds(times[static_cast<std::size_t>(activity)]) / static_cast<double>(steps);
  };
  RankUse use{rank.model().memory_bytes, device.memory_bytes,
              mean(Activity::computing), mean(Activity::loading),
              mean(Activity::adding),    mean(Activity::crossing),
              mean(Activity::waiting),   0};
  const double idle = use.crossing_seconds + use.waiting_seconds;
  const double step = idle + use.compute_seconds + use.input_seconds + use.adding_seconds;
  use.idle_fraction = step > 0 ? idle / step : 0;
  return use;
}

}  // namespace

double bubble_fraction(const std::vector<RankUse>& ranks) {
  const auto busy = [](const RankUse& use) {
    return use.compute_seconds + use.input_seconds + use.adding_seconds;
  };
  double longest = 0, idle_fractions = 0;
  for (const RankUse& use : ranks)
    longest = std::max(longest, busy(use) + use.crossing_seconds + use.waiting_seconds);
  if (longest <= 0) return 0;
  // The sum of rounded busy times can exceed the product of count and time. A sum of fractions
  // cannot leave [0, count], so the result stays in [0, 1].
  for (const RankUse& use : ranks) idle_fractions += (longest - busy(use)) / longest;
  return idle_fractions / static_cast<double>(ranks.size());
}

Outcome measure(const Simulation& simulation, const plan::Schedule& schedule,
                const topology::Network& network, LanesPerThread lanes_per_thread) {
  const SimulationState& world = simulation.world();
  const int ranks = static_cast<int>(simulation.ranks().size());
  Outcome outcome;
  outcome.step_seconds = world.step_seconds;
  outcome.steps = static_cast<std::int64_t>(world.step_seconds.size());
  std::vector<double> full;
  for (std::int64_t step = 0; step < outcome.steps; ++step) {
    const double took = world.step_seconds[static_cast<std::size_t>(step)];
    const bool meets = schedule.synchronizes_periodically() && schedule.ends_local_steps(step);
    if (schedule.stretch(step) != "train")
      outcome.tail_seconds += step < schedule.steps_per_epoch() ? took : 0;
    else if (!meets) full.push_back(took);
  }
  outcome.median_step_seconds = median(full.empty() ? world.step_seconds : full);
  outcome.local_step_seconds = outcome.median_step_seconds;
  outcome.first_step_seconds = world.step_seconds.front();
  outcome.evaluation_seconds = world.evaluation_seconds;
  outcome.average_seconds = world.average_seconds;
  outcome.end_seconds = world.end_seconds;
  outcome.start_seconds = world.start_seconds;
  outcome.simulated_seconds = seconds(simulation.now());
  for (const plan::Lane& lane : simulation.ranks().front()->model().lanes)
    if (outcome.engine.empty()) outcome.engine = plan::engine_of(lane);
  outcome.wire = wire_bytes(world.wire, ranks);
  outcome.edges = edge_uses(world.wire, simulation.now());
  for (int rank = 0; rank < ranks; ++rank) {
    const VirtualRank& of = *simulation.ranks()[static_cast<std::size_t>(rank)];
    outcome.ranks.push_back(rank_use(
        of, outcome.steps, network.device(network.ranks()[static_cast<std::size_t>(rank)])));
    outcome.ranks.back().encoding_seconds = encoding_seconds(of.model(), schedule.program(0));
  }
  outcome.bubble_fraction = bubble_fraction(outcome.ranks);
  outcome.bounds = bounds(simulation, outcome, schedule.program(0), network, lanes_per_thread);
  outcome.explain = explain(outcome, network);
  outcome.fingerprint = world.event_sink.fingerprint();
  return outcome;
}

std::int64_t Outcome::step_wire_bytes() const {
  return std::accumulate(
      wire.begin(), wire.end(), std::int64_t{0},
      [](std::int64_t sum, const WireBytes& pair) { return sum + pair.step_bytes; });
}

}  // namespace trainyard::sim
