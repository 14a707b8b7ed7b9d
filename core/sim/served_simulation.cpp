// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/served_simulation.h"

#include <fmt/core.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "core/run/bind/layout.h"
#include "core/sim/event_sink.h"
#include "core/sim/outcome.h"
#include "core/sim/served_clock.h"
#include "core/telemetry/summary.h"

namespace trainyard::sim {
namespace {

using plan::ServerEvent;

// Measurements that are collected from the events of the virtual clock.
struct Heard {
  std::vector<std::int64_t> ends_ns;  // end time of each step
  std::vector<double>
      gradient_intervals;      // times between consecutive gradients of one worker, for all workers
  double staleness = 0;        // sum of the staleness of counted gradients
  std::int64_t gradients = 0;  // number of counted gradients
  // Number of applied gradients. With n workers, the first n gradients are less stale than later
  // ones, so they are not counted in `gradients`.
  std::int64_t warm = 0;
  std::int64_t last_ns = 0;
};

base::Result<Heard> listen(ServerClock& clock, bool is_lockstep, int workers,
                           const std::stop_token& stop) {
  Heard heard;
  std::vector<std::int64_t> before_ns(
      static_cast<std::size_t>(workers));  // time of a worker's last gradient; 0: none yet
  for (auto event = clock.next();; event = clock.next()) {
    if (!event) return base::fail(event.error());
    if (stop.stop_requested())
      return base::fail(
          {"canceled", base::ProblemCode::canceled, "", "the simulation was canceled", "", ""});
    if (!*event) return heard;
    heard.last_ns = (*event)->time_ns;
    if ((*event)->kind != ServerEvent::Kind::takes || (*event)->server != 0) continue;
    const std::int64_t before =
        std::exchange(before_ns[static_cast<std::size_t>((*event)->worker)], heard.last_ns);
    if (before > 0)
      heard.gradient_intervals.push_back(static_cast<double>(heard.last_ns - before) * 1e-9);
    if (!is_lockstep || (*event)->completes) heard.ends_ns.push_back((*event)->time_ns);
    if (!(*event)->dropped && ++heard.warm > workers)
      heard.staleness += static_cast<double>((*event)->staleness), ++heard.gradients;
  }
}

void add_steps(const Heard& heard, int workers, Outcome& outcome) {
  std::int64_t before = 0;
  for (const std::int64_t end : heard.ends_ns)
    outcome.step_seconds.push_back(static_cast<double>(end - std::exchange(before, end)) * 1e-9);
  outcome.steps = std::ssize(outcome.step_seconds);
  outcome.first_step_seconds = outcome.step_seconds.front();
  // Uses the mean interval. Workers that start together finish together, so their steps come in
  // bursts, and single intervals are not meaningful.
  const auto from = static_cast<std::size_t>(std::min<std::int64_t>(workers, outcome.steps - 1));
  const auto steps = static_cast<double>(heard.ends_ns.size() - 1 - (from - 1));
  const std::int64_t begin = from == 0 ? 0 : heard.ends_ns[from - 1];
  outcome.median_step_seconds =
      static_cast<double>(heard.ends_ns.back() - begin) * 1e-9 / (from == 0 ? 1 : steps);
  outcome.simulated_seconds = static_cast<double>(heard.last_ns) * 1e-9;
}

void add_traffic(const ServerClock& clock, int ranks, Outcome& outcome) {
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (const std::int64_t bytes = clock.bytes_sent(from, to); bytes > 0)
        outcome.wire.push_back({from, to, bytes / outcome.steps, bytes});
  for (DirectedLink way = 0; way < clock.links().ways(); ++way)
    if (const std::int64_t bytes = clock.links().bytes(way); bytes > 0)
      outcome.edges.push_back({topology::EdgeId(way / 2), way % 2 == 0, bytes / outcome.steps,
                               bytes,
                               seconds(clock.links().busy(way)) / outcome.simulated_seconds});
}

// Adds the mean time per step that each rank spends on each activity. The mean is over all steps of
// the run, of all workers together.
void add_ranks(const plan::Plan& plan, const topology::Network& network,
               const std::vector<double>& busy_seconds, Outcome& outcome) {
  const std::vector<topology::DeviceId> devices = network.ranks();
  const auto steps = static_cast<double>(outcome.steps);
  double idle = 0;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const run::Layout layout = run::layout(plan.rank_plan(rank));
    RankUse use;
    use.peak_memory_bytes = layout.device_bytes();
    use.memory_bytes = network.device(devices[r]).memory_bytes;
    (plan.rank_plan(rank).rule ? use.adding_seconds : use.compute_seconds) =
        busy_seconds[r] / steps;
    use.waiting_seconds = std::max(0.0, outcome.simulated_seconds - busy_seconds[r]) / steps;
    use.idle_fraction = outcome.simulated_seconds > 0
                            ? std::max(0.0, 1 - busy_seconds[r] / outcome.simulated_seconds)
                            : 0;
    idle += use.idle_fraction;
    outcome.ranks.push_back(use);
  }
  outcome.bubble_fraction = idle / static_cast<double>(plan.ranks);
}

// Adds the bounds of the busiest rank and of the slowest edge. Steps of workers overlap, so the
// compute time of a worker does not limit the run; the explanation then says that steps overlap.
void add_constraints(int workers, const topology::Network& network, Outcome& outcome) {
  Bound device;
  for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank) {
    const RankUse& use = outcome.ranks[rank];
    const double needs = use.compute_seconds + use.adding_seconds;
    if (device.rank < 0 || needs > device.seconds)
      device.rank = static_cast<int>(rank), device.seconds = needs;
  }
  outcome.bounds = {device};
  if (!outcome.edges.empty()) outcome.bounds.push_back(edge_bound(outcome, network));
  std::stable_sort(outcome.bounds.begin(), outcome.bounds.end(),
                   [](const Bound& a, const Bound& b) { return a.seconds > b.seconds; });
  outcome.explain = explain(outcome, network);
  if (outcome.bounds.front().kind == BoundKind::device && outcome.bounds.front().rank < workers)
    outcome.explain += fmt::format(" The steps of {} workers overlap.", workers);
}

void predict(const plan::Plan& plan, Outcome& outcome) {
  const plan::RankPlan worker = plan.rank_plan(0);
  const auto left = static_cast<double>(plan.schedule.steps - outcome.steps);
  const double samples = static_cast<double>(
      worker.programs[static_cast<std::size_t>(worker.program(plan.schedule.program(0)))]
          .global_samples);
  outcome.predicted_seconds = outcome.simulated_seconds + left * outcome.median_step_seconds;
  outcome.full_batch_seconds = outcome.median_step_seconds;
  outcome.predicted_samples_per_second =
      outcome.median_step_seconds > 0 ? samples / outcome.median_step_seconds : 0;
  const double per_step =
      static_cast<double>(std::accumulate(
          outcome.wire.begin(), outcome.wire.end(), std::int64_t{0},
          [](std::int64_t sum, const WireBytes& pair) { return sum + pair.bytes; })) /
      static_cast<double>(outcome.steps);
  outcome.predicted_wire_bytes = std::llround(per_step * static_cast<double>(plan.schedule.steps));
}

}  // namespace

base::Result<Outcome> simulate_served(const plan::Plan& plan, const topology::Network& network,
                                      const Options& options) {
  const plan::RankPlan last = plan.rank_plan(plan.ranks - 1);
  const int workers = last.rule->workers;
  std::vector<double> busy(static_cast<std::size_t>(plan.ranks));
  EventSink event_sink(options.on_event);
  ServedClockParts parts;
  parts.plan = &plan;
  // a shared pointer without ownership, because the network outlives the clock
  parts.network = std::shared_ptr<const topology::Network>(std::shared_ptr<void>(), &network);
  parts.devices = network.ranks();
  parts.seed = options.seed;
  parts.launch_seconds = options.launch_seconds;
  parts.row_count = options.row_count;
  parts.on_event = [&](int rank, const telemetry::Event& event) {
    busy[static_cast<std::size_t>(rank)] +=
        static_cast<double>(event.end_ns - event.begin_ns) * 1e-9;
    event_sink.write(rank, event);
  };
  auto clock = ServerClock::make(std::move(parts));
  if (!clock) return base::fail(clock.error());
  const bool is_lockstep = last.rule->answers_after_update;
  (*clock)->allow(std::min(plan.schedule.steps,
                           std::max(options.steps, is_lockstep ? kRounds : kRounds * workers)),
                  true);
  const auto heard = listen(**clock, is_lockstep, workers, options.watch.stop);
  if (!heard) return base::fail(heard.error());
  if (heard->ends_ns.empty())
    return base::fail({"plan_never_ends", base::ProblemCode::bad_input, "plan",
                       "no step of the simulation completes", "a plan that passes the check", ""});
  Outcome outcome;
  add_steps(*heard, workers, outcome);
  outcome.local_step_seconds = is_lockstep || heard->gradient_intervals.empty()
                                   ? outcome.median_step_seconds
                                   : telemetry::quantiles(heard->gradient_intervals).median;
  add_traffic(**clock, plan.ranks, outcome);
  add_ranks(plan, network, busy, outcome);
  add_constraints(workers, network, outcome);
  predict(plan, outcome);
  outcome.mean_staleness =
      heard->gradients > 0 ? heard->staleness / static_cast<double>(heard->gradients) : 0;
  outcome.fingerprint = event_sink.fingerprint();
  return outcome;
}

}  // namespace trainyard::sim
