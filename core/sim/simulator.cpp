// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/simulator.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/sim/outcome.h"
#include "core/sim/served_simulation.h"

namespace trainyard::sim {
namespace {

using plan::Schedule;

// Number of full steps, shorter steps, evaluations and averages in the full run.
struct Counts {
  std::int64_t full = 0, evaluations = 0, averages = 0, meetings = 0;
  // number of steps of each tail (kind of shorter steps at the end of an epoch)
  std::vector<std::int64_t> tails;
};

// Returns how often local parameters are averaged during the first `steps` steps.
std::int64_t count_averages(const Schedule& schedule, std::int64_t steps) {
  const std::int64_t evaluate = schedule.evaluate_every_steps,
                     average = schedule.average_every_steps;
  const auto every = [&](std::int64_t interval) { return interval > 0 ? steps / interval : 0; };
  const std::int64_t both =
      evaluate > 0 && average > 0 && evaluate / std::gcd(evaluate, average) <= steps / average
          ? every(std::lcm(evaluate, average))
          : 0;
  const auto is_multiple = [&](std::int64_t interval) {
    return interval > 0 && steps % interval == 0;
  };
  const bool last =
      steps == schedule.steps && steps > 0 && !is_multiple(evaluate) && !is_multiple(average);
  return every(evaluate) + every(average) - both + (last ? 1 : 0);
}

Counts count(const Schedule& schedule) {
  const std::int64_t epoch = schedule.steps_per_epoch(), every = schedule.evaluate_every_steps;
  Counts counts{schedule.steps,
                every > 0 ? (schedule.steps + every - 1) / every : 0,
                count_averages(schedule, schedule.steps),
                schedule.synchronizes_periodically() ? schedule.steps / schedule.local_steps : 0,
                {}};
  std::int64_t begin = schedule.full_steps_per_epoch;  // start of the tail within an epoch
  for (const std::int64_t steps : schedule.tails) {
    counts.tails.push_back(schedule.steps / epoch * steps +
                           std::clamp<std::int64_t>(schedule.steps % epoch - begin, 0, steps));
    counts.full -= counts.tails.back();
    begin += steps;
  }
  return counts;
}

// Bytes that all ranks together send in each program: before the first step (`start`), in a full
// step, for an average, for an evaluation, and in each kind of shorter steps at the end of an epoch
// (`tails`). `meeting`: additional bytes of a step that synchronizes local parameters.
struct ProgramBytes {
  std::int64_t start = 0, step = 0, average = 0, evaluation = 0, meeting = 0;
  std::vector<std::int64_t> tails;
};

void take(ProgramBytes& moved, const Sent& sent, const Schedule& schedule) {
  moved.start = sent.start;
  moved.tails.resize(schedule.tails.size());
  for (std::size_t step = 0; step < sent.by_step.size(); ++step) {
    if (schedule.synchronizes_periodically() &&
        schedule.ends_local_steps(static_cast<std::int64_t>(step)))
      continue;
    const std::string program = schedule.stretch(static_cast<std::int64_t>(step));
    if (program == "train") moved.step = sent.by_step[step];
    for (std::size_t t = 0; t < moved.tails.size(); ++t)
      if (program == Schedule::tail_name(t)) moved.tails[t] = sent.by_step[step];
  }
  if (sent.first_average > 0) moved.average = sent.first_average;
  if (sent.first_evaluation > 0) moved.evaluation = sent.first_evaluation;
}

// Returns the schedule of a "short epoch": one full step and one step of each tail, followed by an
// evaluation, without periodic synchronization. A tail is a kind of shorter steps at the end of an
// epoch.
Schedule short_epoch(const Schedule& schedule) {
  const std::int64_t full =
      schedule.tails.empty() ? 1 : std::min<std::int64_t>(schedule.full_steps_per_epoch, 1);
  const std::vector<std::int64_t> tails(schedule.tails.size(), 1);
  const std::int64_t steps = full + std::ssize(tails);
  return {steps, full,
          tails, schedule.evaluate_every_steps > 0 ? steps : 0,
          0,     schedule.local_steps == 1 ? 1 : 0};
}

// Adds the bytes measured in a synchronizing step, divided by `steps`, to the traffic per step.
// They go to the entry with the same sender and receiver (or edge and direction), or to a new
// entry.
template <class Use, class Same>
void share(const std::vector<Use>& met, std::vector<Use>& known, std::int64_t steps, Same same) {
  for (const Use& use : met) {
    auto at = std::find_if(known.begin(), known.end(),
                           [&](const Use& other) { return same(use, other); });
    if (at == known.end()) {
      known.push_back(use);
      at = std::prev(known.end());
      at->bytes = 0;
    }
    at->step_bytes = (use.step_bytes + steps / 2) / steps;
  }
}

// Returns the time of all shorter steps at the end of an epoch (tails). `step_seconds` are the step
// times of the short epoch, which has one full step and one step of each tail. Steps overlap: the
// time of a step includes some work of the next one, so single step times cannot be added.
// Therefore the result is the time of the short epoch, minus its full step, plus the time of all
// further steps of the tails.
double tail_seconds(const std::vector<double>& step_seconds, const Schedule& schedule,
                    double median_step_seconds) {
  const std::size_t full = step_seconds.size() - schedule.tails.size();
  const double full_seconds = full == 1 ? median_step_seconds : 0,
               work_of_next = full == 1 ? step_seconds.front() - median_step_seconds : 0;
  double seconds = std::accumulate(step_seconds.begin(), step_seconds.end(), -full_seconds);
  for (std::size_t t = 0; t < schedule.tails.size(); ++t) {
    const bool last = t + 1 == schedule.tails.size();
    seconds += static_cast<double>(schedule.tails[t] - 1) *
               (step_seconds[full + t] + (last ? work_of_next : 0));
  }
  return seconds;
}

// Simulates a short epoch and adds what a simulation of the first steps does not show: time and
// bytes of an evaluation, and of the shorter steps at the end of an epoch (tails).
base::Result<void> add_short_epoch(Outcome& outcome, ProgramBytes& moved, const plan::Plan& plan,
                                   const topology::Network& network, const Options& options) {
  const Schedule schedule = short_epoch(plan.schedule);
  const auto rest = Simulation::run(plan, schedule, schedule.steps, network, options, {});
  if (!rest) return base::fail(rest.error());
  const SimulationState& world = (*rest)->world();
  if (!schedule.tails.empty())
    outcome.tail_seconds =
        tail_seconds(world.step_seconds, plan.schedule, outcome.median_step_seconds);
  outcome.evaluation_seconds = world.evaluation_seconds;
  outcome.average_seconds = world.average_seconds;
  outcome.end_seconds = world.end_seconds;
  take(moved, world.wire.sent(), schedule);
  return {};
}

// Adds the additional time and bytes of steps that synchronize local parameters. Bytes per step are
// weighted by how often such steps occur.
base::Result<void> add_meeting(Outcome& outcome, ProgramBytes& moved, const plan::Plan& plan,
                               const topology::Network& network, const Options& options) {
  Schedule step{1, 1, {}};
  if (plan.schedule.full_steps_per_epoch == 0) step.full_steps_per_epoch = 0, step.tails = {1};
  const auto alone = Simulation::run(plan, step, 1, network, options, {});
  if (!alone) return base::fail(alone.error());
  step.local_steps = 1;
  const auto met = Simulation::run(plan, step, 1, network, options, {});
  if (!met) return base::fail(met.error());
  outcome.synchronization_seconds =
      (*met)->world().step_seconds.front() - (*alone)->world().step_seconds.front();
  moved.meeting =
      (*met)->world().wire.sent().by_step.empty() ? 0 : (*met)->world().wire.sent().by_step.front();
  const Outcome meeting = measure(**met, step, network, options.lanes_per_thread);
  share(meeting.wire, outcome.wire, plan.schedule.local_steps,
        [](const WireBytes& a, const WireBytes& b) { return a.from == b.from && a.to == b.to; });
  share(meeting.edges, outcome.edges, plan.schedule.local_steps,
        [](const EdgeUse& a, const EdgeUse& b) {
          return a.edge == b.edge && a.forward == b.forward;
        });
  return {};
}

// Sums of the time and of the samples of steps. Steps may have different numbers of samples, so the
// mean time per sample is the quotient of the sums.
struct Work {
  double seconds = 0, samples = 0;
};

double samples_of(const plan::RankPlan& rank, const std::string& program) {
  return static_cast<double>(
      rank.programs[static_cast<std::size_t>(rank.program(program))].global_samples);
}

Work work_of_run(const Outcome& outcome, const Schedule& schedule, const plan::RankPlan& rank) {
  Work work;
  for (std::int64_t step = 0; step < outcome.steps; ++step) {
    work.seconds += outcome.step_seconds[static_cast<std::size_t>(step)];
    work.samples += samples_of(rank, schedule.program(step));
  }
  return work;
}

Work work_of_epoch(const Outcome& outcome, const Schedule& schedule, const plan::RankPlan& rank) {
  const auto full = static_cast<double>(schedule.full_steps_per_epoch);
  Work work{full * outcome.median_step_seconds + outcome.tail_seconds,
            full > 0 ? full * samples_of(rank, "train") : 0};
  if (schedule.synchronizes_periodically())
    work.seconds += outcome.synchronization_seconds *
                    static_cast<double>(schedule.steps_per_epoch()) /
                    static_cast<double>(schedule.local_steps);
  for (std::size_t t = 0; t < schedule.tails.size(); ++t)
    work.samples +=
        static_cast<double>(schedule.tails[t]) * samples_of(rank, Schedule::tail_name(t));
  return work;
}

// Returns the time that the run needs, on average, for as many samples as a full step has. If ranks
// run out of samples at different steps, this is a mean over the epoch or the run, because full
// steps alone would be too optimistic.
double full_batch_seconds(const Outcome& outcome, const Schedule& schedule,
                          const plan::RankPlan& rank) {
  if (schedule.tails.size() < 2)
    return outcome.median_step_seconds +
           (schedule.synchronizes_periodically()
                ? outcome.synchronization_seconds / static_cast<double>(schedule.local_steps)
                : 0);
  const bool all = outcome.steps == schedule.steps;
  const Work work =
      all ? work_of_run(outcome, schedule, rank) : work_of_epoch(outcome, schedule, rank);
  return work.samples > 0 ? work.seconds * samples_of(rank, schedule.program(0)) / work.samples
                          : outcome.median_step_seconds;
}

// Returns the predicted seconds of the full run.
double seconds_of(const Counts& counts, const Outcome& outcome, const Schedule& schedule) {
  const std::int64_t tail_steps =
      std::accumulate(counts.tails.begin(), counts.tails.end(), std::int64_t{0});
  const std::int64_t of_epoch = schedule.steps_per_epoch() - schedule.full_steps_per_epoch;
  const double epochs_of_tails =
      of_epoch > 0 ? static_cast<double>(tail_steps) / static_cast<double>(of_epoch) : 0;
  return outcome.start_seconds + static_cast<double>(counts.full) * outcome.median_step_seconds +
         epochs_of_tails * outcome.tail_seconds +
         static_cast<double>(counts.evaluations) * outcome.evaluation_seconds +
         static_cast<double>(counts.averages) * outcome.average_seconds +
         static_cast<double>(counts.meetings) * outcome.synchronization_seconds;
}

void predict(Outcome& outcome, const ProgramBytes& moved, const Schedule& schedule,
             const plan::RankPlan& rank) {
  const Counts counts = count(schedule);
  outcome.predicted_seconds = outcome.steps == schedule.steps
                                  ? outcome.simulated_seconds
                                  : seconds_of(counts, outcome, schedule) + outcome.end_seconds;
  outcome.full_batch_seconds = full_batch_seconds(outcome, schedule, rank);
  outcome.predicted_samples_per_second =
      outcome.full_batch_seconds > 0
          ? samples_of(rank, schedule.program(0)) / outcome.full_batch_seconds
          : 0;
  outcome.predicted_wire_bytes = std::inner_product(
      counts.tails.begin(), counts.tails.end(), moved.tails.begin(),
      moved.start + counts.full * moved.step + counts.meetings * moved.meeting +
          counts.averages * moved.average + counts.evaluations * moved.evaluation);
}

// Returns the problem for asynchronous gossip, which cannot be simulated. How often a passive rank
// is interrupted, and how long an active rank waits, depends on the order of events in a real run.
base::Problem is_asynchronous_gossip() {
  return {"gossip_not_simulated",
          base::ProblemCode::bad_input,
          "strategy.gossip.mode",
          "the simulator does not support asynchronous gossip, because the order of its averages "
          "is known only after a run",
          "synchronous",
          "Run the experiment, or set strategy.gossip.mode to synchronous."};
}

bool serves(const plan::Plan& plan) { return plan.rank_plan(plan.ranks - 1).rule.has_value(); }

base::Result<void> check(const plan::Plan& plan, const topology::Network& network,
                         const Options& options) {
  const std::size_t drawn = network.ranks().size();
  if (plan.ranks < 1 || static_cast<std::size_t>(plan.ranks) > drawn)
    return base::fail(
        {"too_few_devices", base::ProblemCode::bad_input, "topology.hosts",
         fmt::format("the plan has {} ranks, but the drawing has {}", plan.ranks, drawn),
         "a device for each rank", ""});
  if (plan.schedule.steps < 1 || options.steps < 1)
    return base::fail({"no_steps", base::ProblemCode::bad_input, "steps",
                       "there is no step to simulate", "at least 1", ""});
  return {};
}

}  // namespace

std::int64_t automatic_steps(const plan::Plan& plan) {
  constexpr std::int64_t kMaxOps = 1'500'000, kMinSteps = 8;
  std::size_t ops = 1;
  for (const plan::Program& program : plan.rank_plan(0).programs)
    ops = std::max(ops, program.ops.size());
  return std::clamp(kMaxOps / (static_cast<std::int64_t>(ops) * plan.ranks), kMinSteps,
                    Options().steps);
}

double seconds_until(std::int64_t step, const Outcome& outcome, const Schedule& schedule) {
  Schedule until = schedule;
  until.steps = step + 1;
  Counts counts = count(until);
  counts.evaluations = schedule.evaluate_every_steps > 0 ? step / schedule.evaluate_every_steps : 0;
  counts.averages = count_averages(schedule, step);
  return seconds_of(counts, outcome, schedule);
}

base::Result<Outcome> simulate(const plan::Plan& plan, const topology::Network& network,
                               const Options& options) {
  const plan::Plan trained = plan::without_evaluators(plan);
  if (const auto ok = check(trained, network, options); !ok) return base::fail(ok.error());
  if (!trained.rank_plan(0).pairs.empty()) return base::fail(is_asynchronous_gossip());
  if (serves(trained)) return simulate_served(trained, network, options);
  const std::int64_t steps = std::min(options.steps, trained.schedule.steps);
  const auto simulation =
      Simulation::run(trained, trained.schedule, steps, network, options, options.on_event);
  if (!simulation) return base::fail(simulation.error());
  Outcome outcome = measure(**simulation, trained.schedule, network, options.lanes_per_thread);
  ProgramBytes moved;
  take(moved, (*simulation)->world().wire.sent(), trained.schedule);
  const bool averages = trained.rank_plan(0).program("average") >= 0;
  if (const bool more =
          averages || !trained.schedule.tails.empty() || trained.schedule.evaluate_every_steps > 0;
      more && steps < trained.schedule.steps)
    if (const auto ok = add_short_epoch(outcome, moved, trained, network, options); !ok)
      return base::fail(ok.error());
  if (trained.schedule.synchronizes_periodically())
    if (const auto ok = add_meeting(outcome, moved, trained, network, options); !ok)
      return base::fail(ok.error());
  predict(outcome, moved, trained.schedule, trained.rank_plan(0));
  return outcome;
}

}  // namespace trainyard::sim
