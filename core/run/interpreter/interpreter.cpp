// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/interpreter/interpreter.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/data/columns.h"
#include "core/run/bind/loaded_samples.h"
#include "core/run/exchange/engine_calls.h"
#include "core/run/interpreter/interpreter_state.h"

namespace trainyard::run {
namespace {

using plan::LaneId;
using plan::LaneKind;
using plan::OpKind;

constexpr int kPrefetched = 2;  // number of batches loaded ahead

bool loads_in(const plan::RankPlan& plan, plan::Purpose purpose) {
  return std::any_of(plan.programs.begin(), plan.programs.end(), [&](const plan::Program& program) {
    const auto is_load = [](const plan::Op& op) { return op.kind == OpKind::load; };
    return plan::purpose(program.name) == purpose &&
           std::any_of(program.ops.begin(), program.ops.end(), is_load);
  });
}

// Returns the feature columns that a plan loads; none if it loads all columns or nothing.
plan::Columns columns_of(const BoundPlan& bound) {
  for (const BoundProgram& program : bound.programs)
    for (const BoundLoad& load : program.loads) return load.columns;
  return {};
}

// Evaluates the rank's own share of samples. If the rank holds only some columns, loads the samples
// of all ranks.
HeldOut held_out_of(const InterpreterParts& parts, const plan::Columns& columns) {
  if (!columns.any()) return {parts.dataset, {parts.held_out}, 0};
  std::vector<HeldOut::Share> shares;
  const std::int64_t ranks = parts.sampler.shares().ranks(),
                     samples = parts.dataset->summary().held_out_samples;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    shares.push_back(data::slice(samples, ranks, rank));
  return {data::only_columns(parts.dataset, columns.first, columns.count), std::move(shares),
          static_cast<std::size_t>(parts.plan->rank)};
}

std::shared_ptr<const data::Dataset> seen_of(const InterpreterParts& parts,
                                             const plan::Columns& columns) {
  return columns.any() ? data::only_columns(parts.dataset, columns.first, columns.count)
                       : parts.dataset;
}

// Returns an allocator for samples as bytes, which a device other than the host converts to floats;
// none if samples come as floats.
data::AllocateBytes room_for_bytes(compute::Compute& compute) {
  if (compute.on_host()) return {};
  return [&compute](std::int64_t bytes) {
    auto result_memory = compute.allocate_host_visible(bytes, "samples");
    return result_memory ? *result_memory
                         : compute::Memory(new std::byte[static_cast<std::size_t>(bytes)],
                                           std::default_delete<std::byte[]>());
  };
}

// Returns for each program its number of compute ops; 0 for programs that are not training steps.
std::vector<std::int32_t> step_ops_of(const plan::RankPlan& plan) {
  std::vector<std::int32_t> counts;
  const auto computes = [&](const plan::Op& op) {
    return plan.lanes[op.lane.index()].kind == LaneKind::compute;
  };
  for (const plan::Program& program : plan.programs)
    counts.push_back(plan::purpose(program.name) == plan::Purpose::training
                         ? static_cast<std::int32_t>(std::ranges::count_if(program.ops, computes))
                         : 0);
  return counts;
}

}  // namespace

bool loads(const plan::RankPlan& plan) {
  return loads_in(plan, plan::Purpose::training) || loads_in(plan, plan::Purpose::evaluation);
}

Interpreter::State::State(InterpreterParts p)
    : parts(std::move(p)),
      frontier(*parts.plan),
      meter(parts.events, parts.transport, *parts.model, *parts.bound, parts.is_own_process),
      staleness(*parts.plan),
      queue(parts.compute->make_queue()),
      enqueue_uncaptured((parts.slowness != nullptr && parts.slowness->active()) ||
                         parts.plan->answers() || !parts.plan->pairs.empty()),
      columns(columns_of(*parts.bound)),
      held_out(held_out_of(parts, columns)),
      step_ops(step_ops_of(*parts.plan)) {
  if (parts.transport != nullptr)
    transfers = std::make_unique<Transfers>(*parts.transport, *parts.compute, parts.generation);
  else if (parts.engine != nullptr) transfers = std::make_unique<EngineCalls>(*parts.engine);
  computing.reserve(kGiven);
  done.reserve(128);
  offloaded.reserve(1024);
  for (std::size_t l = 0; l < parts.plan->lanes.size(); ++l) {
    const LaneKind kind = parts.plan->lanes[l].kind;
    if (kind == LaneKind::input) input_lane = LaneId(l);
    else if (kind == LaneKind::compute) compute_lane = LaneId(l);
    else if (kind == LaneKind::copy) copy_lane = LaneId(l);
    else comm_lanes.emplace_back(l);
  }
  if (!enqueue_uncaptured)
    chains.emplace(*parts.plan, *parts.bound, compute_lane, *parts.compute, kLinks);
  if (copy_lane.valid())
    offloading = std::make_unique<Offloading>(*parts.plan, frontier, copy_lane, *parts.bound,
                                              *parts.compute, transfers.get(), parts.slowness);
}

Interpreter::State::~State() {
  if (!computing.empty()) static_cast<void>(compute::finish(*queue));
}

Interpreter::Interpreter(InterpreterParts parts)
    : state_(std::make_unique<State>(std::move(parts))) {}
Interpreter::~Interpreter() = default;
base::Result<void> Interpreter::warm_up() {
  const auto ran = state_->warm_up();
  return ran ? ran : base::fail(state_->in_op(ran.error()));
}
base::Result<std::int64_t> Interpreter::run(std::int64_t first_step) {
  return state_->run(first_step);
}
base::Result<void> Interpreter::evaluate(std::int64_t step) {
  state_->parts.rank_progress->step.store(step, std::memory_order_relaxed);
  state_->lap();
  const auto done = state_->evaluate(step);
  return done ? done : base::fail(state_->in_op(done.error()));
}

void Interpreter::open(std::int64_t first_step) { state_->open(first_step); }
base::Result<void> Interpreter::admit(const std::string& program, std::int64_t step) {
  return state_->admit(program, step);
}
bool Interpreter::complete() const {
  const std::int64_t admitted = state_->frontier.admitted();
  return admitted == 0 || state_->frontier.instance_complete(admitted - 1);
}
plan::StepPosition Interpreter::place() const { return state_->place; }

// Runs what can run now. If nothing can, but the rank's own threads (input, offloading) or its
// device are working, waits for them and counts this as progress, because no peer is needed to
// continue.
base::Result<bool> Interpreter::progress() {
  auto moved = state_->progress();
  if (!moved) return base::fail(state_->in_op(moved.error()));
  if (*moved || !(state_->input_blocked || !state_->computing.empty() ||
                  (state_->offloading && state_->offloading->under_way())))
    return moved;
  return state_->idle().map([] { return true; });
}

void Interpreter::State::open(std::int64_t first_step) {
  place = {first_step, 0};
  if (loads_in(*parts.plan, plan::Purpose::training))
    pipeline = std::make_unique<data::InputPipeline>(
        seen_of(parts, columns), parts.sampler, parts.share < 0 ? parts.plan->rank : parts.share,
        first_step, parts.schedule.steps, kPrefetched, max_loaded(),
        columns.any() ? data::Rows::all : data::Rows::own, room_for_bytes(*parts.compute));
}

base::Result<std::int64_t> Interpreter::State::run(std::int64_t first_step) {
  if (parts.plan->program("turn") >= 0) return run_rounds();
  open(first_step);
  if (parts.plan->answers())
    answering = std::make_unique<OfferAnswerer>(OfferAnswererParts{
        parts.plan, &bound_program(parts.plan->program("answer")), parts.transport, parts.compute,
        parts.generation, first_step, parts.schedule.steps});
  std::int64_t step = first_step;
  while (step < parts.schedule.steps) {
    if (!parts.gate->admits(step)) parts.rank_progress->op.store({}, std::memory_order_relaxed);
    const auto answer = wait_at_gate(step);
    if (!answer) return base::fail(in_op(answer.error()));
    if (*answer == Gate::Answer::finish) break;
    if (*answer == Gate::Answer::closed) return base::fail(stop_problem());
    if (const auto ok = start(step); !ok) return base::fail(in_op(ok.error()));
    meter.reset(base::now_nanoseconds());
    if (const auto ok = train_steps(step); !ok) return base::fail(in_op(ok.error()));
  }
  if (step > first_step)
    if (const auto ok = end(step - 1); !ok) return base::fail(in_op(ok.error()));
  return step;
}

// Waits until the gate admits `step`. A passive rank continues to answer offers meanwhile.
base::Result<Gate::Answer> Interpreter::State::wait_at_gate(std::int64_t step) {
  if (!answering) return parts.gate->wait_for(step);
  for (;;) {
    if (const auto answer = parts.gate->ask(step)) return *answer;
    const auto answered = this->answer();
    if (!answered) return base::fail(answered.error());
    if (!*answered) transfers->wait(kWaitSlice);
  }
}

// Answers all offers of active ranks that have arrived; returns true if there were any. Does
// nothing while all ranks form their mean and evaluate: offers of earlier steps are already
// answered, and a newer offer comes from a rank that has completed this evaluation.
base::Result<bool> Interpreter::State::answer() {
  if (!answering || meeting) return false;
  return answering->answer([this](const AnsweredOffer& made) {
    parts.rank_progress->ops_done.fetch_add(1, std::memory_order_relaxed);
    log_answer(plan::Answer::Kind::answers,
               parts.plan->pairs[static_cast<std::size_t>(made.op)].active, made.step);
    if (parts.record_ops && parts.events != nullptr)
      meter.op_event(parts.plan->program("answer"), made.op, made.step, made.begin_ns,
                     made.begin_ns, made.end_ns, made.bytes);
  });
}

// Adds an event to the order log, with the current position of computation.
void Interpreter::State::log_answer(plan::Answer::Kind kind, int active, std::int64_t step) const {
  if (parts.order != nullptr && parts.plan->answers())
    parts.order->write(plan::Answer{kind, parts.plan->rank, place, active, step});
}

void Interpreter::State::report_averages(std::int64_t step) {
  meter.averaged_in_pairs(step, answering ? answering->averages() : asked);
}

// Answers all offers of active ranks from steps up to `step`. Must be done before all ranks form
// their mean, because ranks wait for each other there.
base::Result<void> Interpreter::State::answer_all(std::int64_t step) {
  for (int op = answering->next_answer(step); op >= 0; op = answering->next_answer(step)) {
    const auto moved = progress();
    if (!moved) return base::fail(moved.error());
    if (*moved) continue;
    parts.rank_progress->op.store({parts.plan->program("answer"), op}, std::memory_order_relaxed);
    wait_for_peers(kWaitSlice, parts.plan->pairs[static_cast<std::size_t>(op)].active);
    const std::int64_t begin = lap();
    meter.times.wait_ns += now_ns - begin;
    if (parts.gate->closed()) return base::fail(stop_problem());
  }
  return {};
}

void Interpreter::State::wait_for_peers(std::chrono::microseconds limit, int peer) {
  parts.rank_progress->waits_for.store(peer, std::memory_order_relaxed);
  transfers->wait(limit);
  parts.rank_progress->waits_for.store(-1, std::memory_order_relaxed);
}

base::Result<void> Interpreter::State::admit(const std::string& program, std::int64_t step) {
  while (!frontier.admit(parts.plan->program(program), step))
    if (const auto ok = progress(); !ok) return base::fail(ok.error());
  return {};
}

base::Result<void> Interpreter::State::run_once(const std::string& program, std::int64_t step) {
  return admit(program, step).and_then([&] { return complete(frontier.admitted() - 1); });
}

std::int64_t Interpreter::State::max_loaded() const {
  return micro_step_samples(*parts.plan, *parts.model);
}

// Runs the plan's "start" program once and waits until it is complete. Its time belongs to no step.
base::Result<void> Interpreter::State::start(std::int64_t first_step) {
  const int program = parts.plan->program("start");
  if (program < 0 || frontier.admitted() > 0) return {};
  lap();
  frontier.admit(program, first_step);
  return complete(0);
}

std::int64_t Interpreter::State::share_of(std::int64_t step) const {
  const data::Shares& shares = parts.sampler.shares();
  return parts.share >= 0 && parts.share < shares.ranks() ? shares.samples(step, parts.share) : 0;
}

// Runs steps until the gate admits no more.
base::Result<void> Interpreter::State::train_steps(std::int64_t& step) {
  for (std::int64_t admitted = step; step < parts.schedule.steps; ++step) {
    parts.rank_progress->step.store(step, std::memory_order_relaxed);
    lap();
    const auto admit_ahead = [&] {
      while (admitted <= step + 1 && admit_step(admitted, step)) ++admitted;
    };
    admit_ahead();
    // The frontier may be full, because a lane moves past programs without ops for that lane only
    // when it is polled. `progress` polls all lanes and so makes room.
    while (admitted == step && may_admit(step, step)) {
      if (const auto moved = progress(); !moved) return base::fail(moved.error());
      if (admit_step(step, step)) ++admitted;
    }
    if (admitted == step) return {};
    meeting = false;
    // The gate may open for the next step while this one runs.
    if (auto ok = complete(frontier.admitted() - (admitted - step), admit_ahead); !ok) return ok;
    lap();
    meter.step_done(step, now_ns, bound_program(parts.plan->program(parts.schedule.program(step))),
                    parts.recipe->learning_rate(step), share_of(step));
    if (parts.rank_progress->first_step_done_ns.load(std::memory_order_relaxed) == 0)
      parts.rank_progress->first_step_done_ns.store(now_ns, std::memory_order_relaxed);
    asked += parts.plan->pairs.empty() || answering ? 0 : 1;
    if (!averages_after(step)) report_averages(step);
    else if (auto ok = average(step); !ok) return ok;
    if (parts.schedule.evaluates_after(step))
      if (auto ok = evaluate(step); !ok) return ok;
  }
  return {};
}

bool Interpreter::State::averages_after(std::int64_t step) const {
  return parts.plan->program("average") >= 0 && parts.schedule.averages_after(step);
}

// Computes the mean of all ranks' parameters, and the distance of this rank's parameters from this
// mean.
base::Result<void> Interpreter::State::average(std::int64_t step) {
  if (answering)
    if (auto ok = answer_all(step); !ok) return ok;
  report_averages(step);  // after late offers are answered, so that they are counted
  meeting = true;
  if (auto ok = run_once("average", step); !ok) return ok;
  meter.averaged(step);
  return {};
}

// Runs the plan's "end" program after the last step that was run, which need not be the last of the
// schedule.
base::Result<void> Interpreter::State::end(std::int64_t last_step) {
  if (parts.plan->program("end") < 0) return {};
  if (!averages_after(last_step))
    if (auto ok = average(last_step); !ok) return ok;
  log_answer(plan::Answer::Kind::ends);
  return run_once("end", last_step);
}

// True if step `next` may begin while `step` still runs, so that its input and first compute
// overlap the communication of `step`. False if an evaluation or average follows `step`, because it
// must use the weights of `step`.
bool Interpreter::State::may_admit(std::int64_t next, std::int64_t step) const {
  const bool looks = parts.schedule.evaluates_after(step) || averages_after(step);
  // The gate has a lock, so it is asked last.
  return next < parts.schedule.steps && (next == step || !looks) && parts.gate->admits(next);
}

bool Interpreter::State::admit_step(std::int64_t next, std::int64_t step) {
  return may_admit(next, step) &&
         frontier.admit(parts.plan->program(parts.schedule.program(next)), next);
}

base::Result<void> Interpreter::State::evaluate(std::int64_t step) {
  evaluating = true;
  loss_sum = correct = 0;
  std::int64_t samples = 0;  // number of samples whose loss the rank computes
  held_out.rewind();
  for (const char* name : plan::kEvaluationPrograms) {
    const int program = parts.plan->program(name);
    if (program < 0) continue;
    samples += bound_program(program).samples * bound_program(program).repeats;
    for (std::int64_t i = 0; i < bound_program(program).repeats; ++i) {
      if (parts.gate->closed()) return base::fail(stop_problem());
      while (!frontier.admit(program, step))
        if (const auto ok = progress(); !ok) return base::fail(ok.error());
      if (auto ok = complete(frontier.admitted() - 1); !ok) return ok;
    }
  }
  evaluating = false;
  if (parts.evaluated) parts.evaluated(step);  // called before the next step begins
  meter.evaluated(step, loss_sum, correct, samples, base::now_nanoseconds());
  return {};
}

}  // namespace trainyard::run
