// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/interpreter.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/data/columns.h"
#include "core/plan/text.h"
#include "core/run/answering.h"
#include "core/run/chunk_sampler.h"
#include "core/run/engine_calls.h"
#include "core/run/held_out.h"
#include "core/run/named_rows.h"
#include "core/run/round_input.h"
#include "core/run/step_meter.h"
#include "core/run/transfers.h"
#include "core/run/turn.h"

namespace trainyard::run {
namespace {

using plan::Frontier;
using plan::LaneId;
using plan::LaneKind;
using plan::OpKind;

constexpr std::chrono::microseconds kWaitSlice{2000};  // the abort word is looked at between slices
constexpr std::chrono::microseconds kInputSlice{100};
constexpr int kPrefetched = 2;                     // batches
constexpr std::int64_t kAwakeBefore = 60'000;      // nanoseconds: a sleeper gets up that late, as a rule
constexpr std::int64_t kLongestSleep = 2'000'000;  // nanoseconds: then it looks whether it was told to stop

bool loads_in(const plan::RankPlan& plan, plan::Purpose purpose) {
  return std::any_of(plan.programs.begin(), plan.programs.end(), [&](const plan::Program& program) {
    const auto is_load = [](const plan::Op& op) { return op.kind == OpKind::load; };
    return plan::purpose(program.name) == purpose && std::any_of(program.ops.begin(), program.ops.end(), is_load);
  });
}

// The feature columns that a plan loads; none where it loads all, or nothing.
plan::Columns columns_of(const BoundPlan& bound) {
  for (const BoundProgram& program : bound.programs)
    for (const BoundLoad& load : program.loads) return load.columns;
  return {};
}

// By its own samples, or where it has but some columns, by those of all ranks.
HeldOut held_out_of(const InterpreterParts& parts, const plan::Columns& columns) {
  if (!columns.any()) return {parts.dataset, {parts.held_out}, 0};
  std::vector<HeldOut::Share> shares;
  const std::int64_t ranks = parts.sampler.shares().ranks(), samples = parts.dataset->summary().held_out_samples;
  for (std::int64_t rank = 0; rank < ranks; ++rank) shares.push_back(data::slice(samples, ranks, rank));
  return {data::only_columns(parts.dataset, columns.first, columns.count), std::move(shares), static_cast<std::size_t>(parts.plan->rank)};
}

std::shared_ptr<const data::Dataset> seen_of(const InterpreterParts& parts, const plan::Columns& columns) {
  return columns.any() ? data::only_columns(parts.dataset, columns.first, columns.count) : parts.dataset;
}

}  // namespace

bool loads(const plan::RankPlan& plan) { return loads_in(plan, plan::Purpose::training) || loads_in(plan, plan::Purpose::evaluation); }

struct Interpreter::State {
  InterpreterParts parts;
  Frontier frontier;
  StepMeter meter;
  std::unique_ptr<Exchange> transfers;   // null: a rank alone
  std::unique_ptr<Answering> answering;  // null: nobody asks this rank
  std::unique_ptr<compute::Queue> queue;
  std::unique_ptr<data::InputPipeline> pipeline;
  std::unique_ptr<RoundInput> rounds;  // instead, of a worker that is told what to compute
  std::unique_ptr<RowNames> row_names;
  const plan::Columns columns;  // of the samples that are loaded; none: all
  HeldOut held_out;
  std::vector<Transfer> done;
  LaneId input_lane, compute_lane;
  std::vector<LaneId> comm_lanes;
  bool evaluating = false;
  bool meeting = false;         // all make their mean, and evaluate; until the next step nobody is owed an answer, and who has no more steps may be gone
  bool input_blocked = false;   // the input lane could go on if its batch were there
  std::int64_t now_ns = 0;      // as last read: where one thing ends, the next begins
  std::int64_t step_of_op = 0;  // where the rank is; at times one on, as the next step begins early
  double loss_sum = 0, correct = 0;
  std::int64_t asked = 0;  // of a neighbour, and answered
  std::int64_t saved = 0;  // checkpoints, in steps / save_every_steps

  explicit State(InterpreterParts p)
      : parts(std::move(p)),
        frontier(*parts.plan),
        meter(parts.events, parts.transport, *parts.model, *parts.bound, parts.own_process),
        queue(parts.compute->make_queue()),
        columns(columns_of(*parts.bound)),
        held_out(held_out_of(parts, columns)) {
    if (parts.transport != nullptr) transfers = std::make_unique<Transfers>(*parts.transport, *parts.compute, parts.generation);
    else if (parts.engine != nullptr) transfers = std::make_unique<EngineCalls>(*parts.engine);
    done.reserve(128);
    for (std::size_t l = 0; l < parts.plan->lanes.size(); ++l) {
      const LaneKind kind = parts.plan->lanes[l].kind;
      if (kind == LaneKind::input) input_lane = LaneId(l);
      else if (kind == LaneKind::compute) compute_lane = LaneId(l);
      else comm_lanes.emplace_back(l);
    }
  }

  const BoundOp& bound(const Frontier::Ready& ready) const {
    return parts.bound->programs[static_cast<std::size_t>(ready.program)].ops[static_cast<std::size_t>(ready.op)];
  }
  const BoundProgram& bound_program(int program) const { return parts.bound->programs[static_cast<std::size_t>(program)]; }

  base::Result<std::int64_t> run(std::int64_t first_step);
  base::Result<std::int64_t> run_rounds();
  base::Result<void> run_round(const Turn& turn);
  base::Result<void> train_and_ask(std::int64_t step);
  base::Result<Turn> await_turn(std::int64_t turns);
  base::Result<void> admit(const std::string& program, std::int64_t step);
  base::Result<void> run_once(const std::string& program, std::int64_t step);
  void wish(double value);
  base::Result<void> start(std::int64_t first_step);
  base::Result<void> train_steps(std::int64_t& step);
  bool may_admit(std::int64_t next, std::int64_t step) const;
  bool averages_after(std::int64_t step) const;
  base::Result<void> average(std::int64_t step);
  base::Result<Gate::Answer> stand_at_gate(std::int64_t step);
  base::Result<bool> answer();
  base::Result<void> answer_all(std::int64_t step);
  void tell_averages(std::int64_t step);
  void wait_for_peers(std::chrono::microseconds limit, int peer);
  base::Result<void> end(std::int64_t last_step);
  base::Result<void> evaluate(std::int64_t step);
  base::Result<void> complete(std::int64_t instance);
  base::Result<bool> progress();
  base::Result<bool> move_transfers();
  bool run_input();
  bool load(const Frontier::Ready& ready);
  void name_rows(const BoundOp& op);
  base::Result<bool> run_compute();
  base::Result<std::int64_t> hold_back(const Frontier::Ready& ready, std::int64_t begin_ns);
  void add_held_out();
  std::int64_t most_loaded() const;
  base::Result<void> idle();
  std::int64_t lap();
  void finish(LaneId lane, const Frontier::Ready& ready, std::int64_t begin, std::int64_t peer_ready, std::int64_t end, std::int64_t bytes,
              std::int64_t imposed_ns = 0);
  void is_at(const Frontier::Ready& ready);
  base::Problem in_op(base::Problem problem) const;
  base::Problem told_to_stop() const { return {base::ProblemCode::cancelled, "rank " + std::to_string(parts.plan->rank), "was told to stop", "", ""}; }
};

Interpreter::Interpreter(InterpreterParts parts) : state_(std::make_unique<State>(std::move(parts))) {}
Interpreter::~Interpreter() = default;
base::Result<std::int64_t> Interpreter::run(std::int64_t first_step) { return state_->run(first_step); }
base::Result<void> Interpreter::evaluate(std::int64_t step) {
  state_->parts.whereabouts->step.store(step, std::memory_order_relaxed);
  state_->lap();
  const auto done = state_->evaluate(step);
  return done ? done : base::fail(state_->in_op(done.error()));
}

base::Result<std::int64_t> Interpreter::State::run(std::int64_t first_step) {
  if (parts.plan->program("turn") >= 0) return run_rounds();
  if (loads_in(*parts.plan, plan::Purpose::training))
    pipeline = std::make_unique<data::InputPipeline>(seen_of(parts, columns), parts.sampler, parts.plan->rank, first_step, parts.schedule.steps, kPrefetched,
                                                     most_loaded(), columns.any() ? data::Rows::all : data::Rows::own);
  if (parts.plan->answers())
    answering = std::make_unique<Answering>(AnsweringParts{parts.plan, &bound_program(parts.plan->program("answer")), parts.transport, parts.compute,
                                                           parts.generation, first_step, parts.schedule.steps});
  std::int64_t step = first_step;
  while (step < parts.schedule.steps) {
    parts.whereabouts->op.store(-1, std::memory_order_relaxed);
    const auto answer = stand_at_gate(step);
    if (!answer) return base::fail(in_op(answer.error()));
    if (*answer == Gate::Answer::finish) break;
    if (*answer == Gate::Answer::closed) return base::fail(told_to_stop());
    if (const auto ok = start(step); !ok) return base::fail(in_op(ok.error()));
    meter.times = {base::now_nanoseconds()};
    if (const auto ok = train_steps(step); !ok) return base::fail(in_op(ok.error()));
  }
  if (step > first_step)
    if (const auto ok = end(step - 1); !ok) return base::fail(in_op(ok.error()));
  return step;
}

// Who may be asked answers there too.
base::Result<Gate::Answer> Interpreter::State::stand_at_gate(std::int64_t step) {
  if (!answering) return parts.gate->wait_for(step);
  for (;;) {
    if (const auto answer = parts.gate->ask(step)) return *answer;
    const auto answered = this->answer();
    if (!answered) return base::fail(answered.error());
    if (!*answered) transfers->wait(kWaitSlice);
  }
}

// Whoever asks. Not while all meet: who asked before has its answer, and who asks already has met.
base::Result<bool> Interpreter::State::answer() {
  if (!answering || meeting) return false;
  return answering->answer([this](const Answered& made) {
    parts.whereabouts->ops_done.fetch_add(1, std::memory_order_relaxed);
    if (parts.record_ops && parts.events != nullptr)
      meter.op_event(parts.plan->program("answer"), made.op, made.step, made.begin_ns, made.begin_ns, made.end_ns, made.bytes);
  });
}

void Interpreter::State::tell_averages(std::int64_t step) { meter.averaged_in_pairs(step, answering ? answering->averages() : asked); }

// Before all meet: whatever the steps until this one ask of the rank.
base::Result<void> Interpreter::State::answer_all(std::int64_t step) {
  for (int op = answering->owes(step); op >= 0; op = answering->owes(step)) {
    const auto moved = progress();
    if (!moved) return base::fail(moved.error());
    if (*moved) continue;
    parts.whereabouts->program.store(parts.plan->program("answer"), std::memory_order_relaxed);
    parts.whereabouts->op.store(op, std::memory_order_relaxed);
    wait_for_peers(kWaitSlice, parts.plan->pairs[static_cast<std::size_t>(op)].active);
    const std::int64_t begin = lap();
    meter.times.wait_ns += now_ns - begin;
    if (parts.gate->closed()) return base::fail(told_to_stop());
  }
  return {};
}

void Interpreter::State::wait_for_peers(std::chrono::microseconds limit, int peer) {
  parts.whereabouts->waits_for.store(peer, std::memory_order_relaxed);
  transfers->wait(limit);
  parts.whereabouts->waits_for.store(-1, std::memory_order_relaxed);
}

// Of a worker of parameter servers: what it computes next it is told, turn by turn.
base::Result<std::int64_t> Interpreter::State::run_rounds() {
  rounds = std::make_unique<RoundInput>(parts.dataset, parts.sampler, parts.plan->rank, most_loaded());
  row_names = std::make_unique<RowNames>(*rounds);
  meter.times = {base::now_nanoseconds()};
  lap();
  wish(0);
  for (const char* program : {"start", "turn"})
    if (const auto ok = admit(program, 0); !ok) return base::fail(in_op(ok.error()));
  for (std::int64_t turns = 1;; ++turns) {
    const auto turn = await_turn(turns);
    if (!turn) return base::fail(in_op(turn.error()));
    const auto ok = run_round(*turn);
    if (!ok) return base::fail(in_op(ok.error()));
    if (turn->last) return turn->done;
  }
}

// It stands where all stand that wait to be told.
base::Result<Turn> Interpreter::State::await_turn(std::int64_t turns) {
  const BoundOp& op = bound_program(parts.plan->program("turn")).ops.front();
  while (frontier.completed(op.lane) < turns) {
    parts.whereabouts->step.store(parts.gate->horizon().step, std::memory_order_relaxed);
    const auto moved = progress();
    if (!moved) return base::fail(moved.error());
    if (*moved) continue;
    if (const auto ok = idle(); !ok) return base::fail(ok.error());
  }
  return Turn::read(reinterpret_cast<const double*>(op.data));
}

base::Result<void> Interpreter::State::run_round(const Turn& turn) {
  parts.whereabouts->step.store(turn.step, std::memory_order_relaxed);
  if (parts.save && parts.save_every_steps > 0 && turn.done / parts.save_every_steps > saved) {
    saved = turn.done / parts.save_every_steps;
    parts.save(saved * parts.save_every_steps);
  }
  if (turn.held) meter.times = {now_ns};
  // What other servers still owe for this turn, they may owe it for ever, now that nobody computes: they are asked all the same.
  if (turn.last && parts.plan->program("last") >= 0) {
    wish(static_cast<double>(turn.gradients));
    if (auto ok = run_once("last", turn.done); !ok) return ok;
  }
  if (turn.last || turn.evaluates)
    if (auto ok = complete(frontier.admitted() - 1); !ok) return ok;
  if (turn.evaluates)
    if (auto ok = evaluate(turn.done - 1); !ok) return ok;
  if (turn.last) {
    wish(kLeaves);
    return run_once("leave", turn.done);
  }
  return train_and_ask(turn.step);
}

// The next turn is open at once, as the first one is: a server's answer is then read while another has not taken its gradient, or wish, yet. Else servers
// and workers might wait in a circle, each server for who still reads what it would overwrite.
base::Result<void> Interpreter::State::train_and_ask(std::int64_t step) {
  const std::string program = parts.schedule.program(step);
  if (auto ok = admit(program, step); !ok) return ok;
  const std::int64_t trains = frontier.admitted() - 1;
  if (auto ok = admit("turn", step); !ok) return ok;
  if (auto ok = complete(trains); !ok) return ok;
  lap();
  meter.step_done(step, now_ns, bound_program(parts.plan->program(program)), {});
  if (parts.whereabouts->first_step_done_ns.load(std::memory_order_relaxed) == 0)
    parts.whereabouts->first_step_done_ns.store(now_ns, std::memory_order_relaxed);
  return {};
}

base::Result<void> Interpreter::State::admit(const std::string& program, std::int64_t step) {
  while (!frontier.admit(parts.plan->program(program), step))
    if (const auto ok = progress(); !ok) return base::fail(ok.error());
  return {};
}

base::Result<void> Interpreter::State::run_once(const std::string& program, std::int64_t step) {
  return admit(program, step).and_then([&] { return complete(frontier.admitted() - 1); });
}

void Interpreter::State::wish(double value) {
  for (const BoundOp& op : bound_program(parts.plan->program("start")).ops) *reinterpret_cast<double*>(op.data) = value;
}

// Samples of a whole micro-step: what a step has beyond them comes in further ones.
std::int64_t Interpreter::State::most_loaded() const {
  std::int64_t most = 1;
  for (const BoundProgram& program : parts.bound->programs)
    for (const BoundLoad& load : program.loads) most = std::max(most, load.samples);
  return most;
}

// What a plan does before its first step: once, whole, and in no step's time.
base::Result<void> Interpreter::State::start(std::int64_t first_step) {
  const int program = parts.plan->program("start");
  if (program < 0 || frontier.admitted() > 0) return {};
  lap();
  frontier.admit(program, first_step);
  return complete(0);
}

// Runs steps as long as the gate admits them without waiting.
base::Result<void> Interpreter::State::train_steps(std::int64_t& step) {
  for (std::int64_t admitted = step; step < parts.schedule.steps; ++step) {
    parts.whereabouts->step.store(step, std::memory_order_relaxed);
    lap();
    while (admitted <= step + 1 && may_admit(admitted, step) && frontier.admit(parts.plan->program(parts.schedule.program(admitted)), admitted)) ++admitted;
    if (admitted == step) return {};
    meeting = false;
    if (auto ok = complete(frontier.admitted() - (admitted - step)); !ok) return ok;
    lap();
    meter.step_done(step, now_ns, bound_program(parts.plan->program(parts.schedule.program(step))), parts.recipe->learning_rate(step));
    if (parts.whereabouts->first_step_done_ns.load(std::memory_order_relaxed) == 0)
      parts.whereabouts->first_step_done_ns.store(now_ns, std::memory_order_relaxed);
    asked += parts.plan->pairs.empty() || answering ? 0 : 1;
    if (!averages_after(step)) tell_averages(step);
    else if (auto ok = average(step); !ok) return ok;
    if (parts.schedule.evaluates_after(step))
      if (auto ok = evaluate(step); !ok) return ok;
  }
  return {};
}

bool Interpreter::State::averages_after(std::int64_t step) const { return parts.plan->program("average") >= 0 && parts.schedule.averages_after(step); }

// The mean of all ranks' parameters, and how far the rank's own are from it.
base::Result<void> Interpreter::State::average(std::int64_t step) {
  if (answering)
    if (auto ok = answer_all(step); !ok) return ok;
  tell_averages(step);  // with those that were answered after the step
  meeting = true;
  if (auto ok = run_once("average", step); !ok) return ok;
  meter.averaged(step);
  return {};
}

// What a plan does after its last step, wherever that was.
base::Result<void> Interpreter::State::end(std::int64_t last_step) {
  if (parts.plan->program("end") < 0) return {};
  if (!averages_after(last_step))
    if (auto ok = average(last_step); !ok) return ok;
  return run_once("end", last_step);
}

// The next step is admitted early, so that its input and first compute overlap the end of this one's communication; but
// not across an evaluation, which must see the weights of its own step.
bool Interpreter::State::may_admit(std::int64_t next, std::int64_t step) const {
  const bool looks = parts.schedule.evaluates_after(step) || averages_after(step);
  return next < parts.schedule.steps && parts.gate->admits(next) && (next == step || !looks);
}

base::Result<void> Interpreter::State::evaluate(std::int64_t step) {
  evaluating = true;
  loss_sum = correct = 0;
  held_out.rewind();
  for (const char* name : {"evaluate", "evaluate_tail"}) {
    const int program = parts.plan->program(name);
    if (program < 0) continue;
    for (std::int64_t i = 0; i < bound_program(program).repeats; ++i) {
      if (parts.gate->closed()) return base::fail(told_to_stop());
      while (!frontier.admit(program, step))
        if (const auto ok = progress(); !ok) return base::fail(ok.error());
      if (auto ok = complete(frontier.admitted() - 1); !ok) return ok;
    }
  }
  evaluating = false;
  meter.evaluated(step, loss_sum, correct, held_out.count(), base::now_nanoseconds());
  return {};
}

base::Result<void> Interpreter::State::complete(std::int64_t instance) {
  while (!frontier.instance_complete(instance)) {
    const auto moved = progress();
    if (!moved) return base::fail(moved.error());
    if (!*moved)
      if (auto ok = idle(); !ok) return ok;
  }
  return {};
}

base::Result<bool> Interpreter::State::progress() {
  auto moved = move_transfers();
  if (!moved) return moved;
  auto answered = answer();
  if (!answered) return answered;
  if (*answered) {
    const std::int64_t begin = lap();
    meter.times.transfer_ns += now_ns - begin;
  }
  const bool loaded = run_input();
  auto computed = run_compute();
  if (!computed) return computed;
  return *computed || *answered || loaded || *moved;
}

base::Result<bool> Interpreter::State::move_transfers() {
  if (!transfers) return false;
  bool started = false;
  for (const LaneId lane : comm_lanes)
    while (const auto ready = frontier.next(lane)) {
      if (parts.chunks != nullptr) parts.chunks->begins(*ready);
      transfers->start(bound(*ready), *ready);
      frontier.start(lane);
      started = true;
    }
  if (transfers->empty()) return started;
  done.clear();
  auto moved = transfers->poll(done, meter.times.transfer_ns);
  if (!moved) {
    is_at(transfers->failed().ready);
    return moved;
  }
  if (*moved) lap();
  for (const Transfer& transfer : done) {
    if (parts.chunks != nullptr) parts.chunks->ends(transfer.ready);
    finish(transfer.op->lane, transfer.ready, transfer.begin_ns, transfer.ready_ns, now_ns, transfer.bytes);
  }
  return started || *moved;
}

bool Interpreter::State::run_input() {
  input_blocked = false;
  const auto ready = frontier.next(input_lane);
  if (!ready) return false;
  if (bound(*ready).kind == OpKind::rows) name_rows(bound(*ready));
  else if (!load(*ready)) return input_blocked = true, false;
  frontier.start(input_lane);
  const std::int64_t begin = lap();
  meter.times.input_ns += now_ns - begin;
  finish(input_lane, *ready, begin, begin, now_ns, 0);
  return true;
}

// False: the samples are not there yet.
bool Interpreter::State::load(const Frontier::Ready& ready) {
  const BoundLoad& into = bound_program(ready.program).loads[static_cast<std::size_t>(bound(ready).micro)];
  if (evaluating) {
    held_out.load(*parts.compute, into);
  } else {
    const data::Batch* batch = rounds ? &rounds->take(ready.step, bound(ready).micro) : pipeline->try_next();
    if (batch == nullptr) return false;
    parts.compute->load(into.input, std::span(batch->features).first(static_cast<std::size_t>(into.input.elements())));
    parts.compute->copy(into.labels.data, reinterpret_cast<const std::byte*>(batch->labels.data() + batch->own_first), into.samples * 4);
    if (!into.sample_numbers.empty())
      parts.compute->copy(into.sample_numbers.data, reinterpret_cast<const std::byte*>(batch->numbers.data() + batch->own_first), into.samples * 4);
    if (pipeline) pipeline->release();
  }
  return true;
}

// Of the turn that came. Who evaluates by what it is given, or ends with it, wants all.
void Interpreter::State::name_rows(const BoundOp& op) {
  const Turn turn = Turn::read(reinterpret_cast<const double*>(bound_program(parts.plan->program("turn")).ops.front().data));
  RowList(op.named.list).write(turn.last ? std::span<const std::int32_t>() : row_names->of(turn.step, op.named), turn.last || turn.evaluates);
}

base::Result<bool> Interpreter::State::run_compute() {
  const auto ready = frontier.next(compute_lane);
  if (!ready) return false;
  const BoundOp& op = bound(*ready);
  frontier.start(compute_lane);
  is_at(*ready);
  if (op.kind == OpKind::pack) pack_rows(*parts.compute, op);
  if (op.kind == OpKind::rate) write_rate(*parts.bound, *parts.recipe, ready->step);
  for (const auto& kernel : op.kernels) kernel->enqueue(*queue);
  const std::uint64_t mark = queue->record();
  while (!queue->reached(mark)) std::this_thread::yield();
  const std::int64_t begin = lap();
  const auto imposed = hold_back(*ready, begin);
  if (!imposed) return base::fail(imposed.error());
  meter.times.compute_ns += now_ns - begin;
  if (!evaluating) meter.capture(op, ready->step);
  else if (op.kind == OpKind::loss) add_held_out();
  if (const auto ok = expect_finite(op, *parts.bound, *parts.recipe, *parts.model); !ok) return base::fail(ok.error());
  finish(compute_lane, *ready, begin, begin, now_ns, 0, *imposed);
  return true;
}

// Waits until the op that began at `begin_ns` has taken as long as it shall; how long that was, in nanoseconds. A slow device answers as soon as any.
base::Result<std::int64_t> Interpreter::State::hold_back(const Frontier::Ready& ready, std::int64_t begin_ns) {
  if (parts.slowness == nullptr || !parts.slowness->active()) return 0;
  const std::int64_t done_ns = now_ns, real_ns = done_ns - begin_ns;
  const std::int64_t shall_end_ns = begin_ns + parts.slowness->shall_take(ready.program, ready.op, ready.step, real_ns);
  for (std::int64_t left_ns = shall_end_ns - done_ns; left_ns > 0 && !parts.gate->closed(); left_ns = shall_end_ns - base::now_nanoseconds()) {
    if (const auto answered = answer(); !answered) return base::fail(answered.error());
    if (left_ns <= 2 * kAwakeBefore) std::this_thread::yield();
    else if (answering) transfers->wait(std::chrono::microseconds(std::min(left_ns - kAwakeBefore, kLongestSleep) / 1000));
    else std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left_ns - kAwakeBefore, kLongestSleep)));
    parts.whereabouts->ops_done.fetch_add(1, std::memory_order_relaxed);  // slow as it is, it does not hang
  }
  lap();
  meter.held_back(parts.slowness->factor(ready.step), now_ns - done_ns, parts.slowness->late_by(ready.program, ready.op, ready.step, real_ns));
  return now_ns - done_ns;
}

void Interpreter::State::add_held_out() {
  loss_sum += parts.bound->metrics.as<double>()[0];
  correct += parts.bound->metrics.as<double>()[1];
}

// Nothing can run: waits for a peer, or for the next batch, and books the time where it belongs.
base::Result<void> Interpreter::State::idle() {
  const bool comm_waits = transfers && !transfers->empty();
  if (comm_waits) {
    is_at(transfers->oldest().ready);
    wait_for_peers(input_blocked ? kInputSlice : kWaitSlice, transfers->waits_for());
  } else if (input_blocked && answering) {
    is_at(*frontier.next(input_lane));
    wait_for_peers(kInputSlice, -1);
  } else if (input_blocked) {
    is_at(*frontier.next(input_lane));
    pipeline->wait_next();
  }
  const std::int64_t begin = lap();
  (comm_waits ? meter.times.wait_ns : meter.times.input_ns) += now_ns - begin;
  if (parts.gate->closed()) return base::fail({base::ProblemCode::cancelled, "rank " + std::to_string(parts.plan->rank), "was told to stop", "", ""});
  return {};
}

// Reads the clock, and returns what it showed before.
std::int64_t Interpreter::State::lap() { return std::exchange(now_ns, base::now_nanoseconds()); }

void Interpreter::State::finish(LaneId lane, const Frontier::Ready& ready, std::int64_t begin, std::int64_t peer_ready, std::int64_t end, std::int64_t bytes,
                                std::int64_t imposed_ns) {
  frontier.finish(lane, ready);
  parts.whereabouts->ops_done.fetch_add(1, std::memory_order_relaxed);
  if (parts.record_ops && parts.events != nullptr) meter.op_event(ready.program, ready.op, ready.step, begin, peer_ready, end, bytes, imposed_ns);
}

void Interpreter::State::is_at(const Frontier::Ready& ready) {
  step_of_op = ready.step;
  parts.whereabouts->program.store(ready.program, std::memory_order_relaxed);
  parts.whereabouts->op.store(ready.op, std::memory_order_relaxed);
}

// Says which op a failure belongs to. One that came from elsewhere, by an abort, already says so.
base::Problem Interpreter::State::in_op(base::Problem problem) const {
  if (transfers)
    if (const auto state = transfers->state(); !state && state.error() == problem) return problem;
  const int program = parts.whereabouts->program.load(), op = parts.whereabouts->op.load();
  if (program < 0 || op < 0) return problem;
  const plan::Op& at = parts.plan->programs[static_cast<std::size_t>(program)].ops[static_cast<std::size_t>(op)];
  problem.where = "rank " + std::to_string(parts.plan->rank) + ", step " + std::to_string(step_of_op) + ", op " + plan::token(at) +
                  (problem.where.empty() ? "" : ": " + problem.where);
  return problem;
}

}  // namespace trainyard::run
