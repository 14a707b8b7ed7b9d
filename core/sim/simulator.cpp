// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/simulator.h"

#include <numeric>

#include "core/sim/outcome.h"

namespace trainyard::sim {
namespace {

using plan::Schedule;

struct Counts {
  std::int64_t full = 0, tails = 0, evaluations = 0;
};

Counts count(const Schedule& schedule) {
  const std::int64_t tails = schedule.tail ? schedule.steps / (schedule.full_steps_per_epoch + 1) : 0;
  const std::int64_t every = schedule.evaluate_every_steps;
  return {schedule.steps - tails, tails, every > 0 ? (schedule.steps + every - 1) / every : 0};
}

// What a training step, a tail and an evaluation move, all ranks together.
struct Moved {
  std::int64_t step = 0, tail = 0, evaluation = 0;
};

void take(Moved& moved, const Sent& sent, const Schedule& schedule) {
  for (std::size_t step = 0; step < sent.by_step.size(); ++step)
    (schedule.program(static_cast<std::int64_t>(step)) == "train" ? moved.step : moved.tail) = sent.by_step[step];
  if (sent.first_evaluation > 0) moved.evaluation = sent.first_evaluation;
}

// A step, the tail, and the evaluation after it.
Schedule short_epoch(const Schedule& schedule) {
  const std::int64_t full = schedule.tail ? std::min<std::int64_t>(schedule.full_steps_per_epoch, 1) : 1;
  const std::int64_t steps = full + (schedule.tail ? 1 : 0);
  return {steps, full, schedule.tail, schedule.evaluate_every_steps > 0 ? steps : 0};
}

// What simulating the first steps alone does not tell: the tail, and the evaluation.
base::Result<void> add_short_epoch(Outcome& outcome, Moved& moved, const plan::Plan& plan, const topology::Network& network, const Options& options) {
  const Schedule schedule = short_epoch(plan.schedule);
  const auto rest = Simulation::run(plan, schedule, schedule.steps, network, options, {});
  if (!rest) return base::fail(rest.error());
  const World& world = (*rest)->world();
  // A step that others follow has some of their work in it, so the tail is what the epoch takes more than its full step.
  const double both = std::accumulate(world.step_seconds.begin(), world.step_seconds.end(), 0.0);
  if (schedule.tail) outcome.tail_seconds = both - static_cast<double>(schedule.full_steps_per_epoch) * outcome.median_step_seconds;
  outcome.evaluation_seconds = world.evaluation_seconds;
  take(moved, world.wire.sent(), schedule);
  return {};
}

void predict(Outcome& outcome, const Moved& moved, const Schedule& schedule, std::int64_t step_samples) {
  const Counts counts = count(schedule);
  const double all_like_these = static_cast<double>(counts.full) * outcome.median_step_seconds + static_cast<double>(counts.tails) * outcome.tail_seconds +
                                static_cast<double>(counts.evaluations) * outcome.evaluation_seconds;
  outcome.predicted_seconds = outcome.steps == schedule.steps ? outcome.simulated_seconds : all_like_these;
  outcome.predicted_samples_per_second = outcome.median_step_seconds > 0 ? static_cast<double>(step_samples) / outcome.median_step_seconds : 0;
  outcome.predicted_wire_bytes = counts.full * moved.step + counts.tails * moved.tail + counts.evaluations * moved.evaluation;
}

base::Result<void> check(const plan::Plan& plan, const topology::Network& network, const Options& options) {
  const std::size_t workers = network.workers().size();
  if (plan.ranks < 1 || static_cast<std::size_t>(plan.ranks) > workers)
    return base::fail({base::ProblemCode::bad_input, "topology.hosts",
                       "the plan has " + std::to_string(plan.ranks) + " ranks and the drawing " + std::to_string(workers) + " workers",
                       "a worker for each rank", ""});
  if (plan.schedule.steps < 1 || options.steps < 1)
    return base::fail({base::ProblemCode::bad_input, "steps", "there is no step to simulate", "at least 1", ""});
  return {};
}

}  // namespace

base::Result<Outcome> simulate(const plan::Plan& plan, const topology::Network& network, const Options& options) {
  if (const auto ok = check(plan, network, options); !ok) return base::fail(ok.error());
  const std::int64_t steps = std::min(options.steps, plan.schedule.steps);
  const auto simulation = Simulation::run(plan, plan.schedule, steps, network, options, options.on_event);
  if (!simulation) return base::fail(simulation.error());
  Outcome outcome = measure(**simulation, plan.schedule, network, options.lanes_per_thread);
  Moved moved;
  take(moved, (*simulation)->world().wire.sent(), plan.schedule);
  if (const bool more = plan.schedule.tail || plan.schedule.evaluate_every_steps > 0; more && steps < plan.schedule.steps)
    if (const auto ok = add_short_epoch(outcome, moved, plan, network, options); !ok) return base::fail(ok.error());
  const plan::RankPlan first = plan.rank_plan(0);
  predict(outcome, moved, plan.schedule, first.programs[static_cast<std::size_t>(first.program(plan.schedule.program(0)))].global_samples);
  return outcome;
}

}  // namespace trainyard::sim
