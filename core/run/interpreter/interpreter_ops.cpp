// SPDX-License-Identifier: GPL-3.0-or-later
// Ops of an interpreter: starts every op that may start, lane by lane, and reports completed ops.
#include <fmt/core.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/plan/text.h"
#include "core/run/bind/loss_scale.h"
#include "core/run/control/slowness.h"
#include "core/run/interpreter/interpreter_state.h"

namespace trainyard::run {
namespace {

using plan::Frontier;
using plan::LaneId;
using plan::OpKind;

constexpr std::chrono::microseconds kInputSlice{100};
// nanoseconds by which a sleep ends early, for the typical wake-up latency
constexpr std::int64_t kAwakeBefore = 60'000;

}  // namespace

base::Result<bool> Interpreter::State::progress() {
  const auto offloaded_any = take_offloaded();
  if (!offloaded_any) return base::fail(offloaded_any.error());
  auto moved = move_transfers();
  if (!moved) return moved;
  // Starts communication ops that completed transfers allow, because they must not wait for a
  // compute op. Stops at the end of a step: the traffic reported for the step must not include
  // later sends.
  while (!done.empty() && completing >= 0 && !frontier.instance_complete(completing))
    if (const auto more = move_transfers(); !more) return base::fail(more.error());
  auto answered = answer();
  if (!answered) return answered;
  if (*answered) {
    const std::int64_t begin = lap();
    meter.times.transfer_ns += now_ns - begin;
  }
  const bool loaded = run_input();
  auto computed = run_compute();
  if (!computed) return computed;
  const bool any = *computed || *answered || loaded || *moved || *offloaded_any;
  if (any) copies_requested_at = -1;
  else if (offloading &&
           std::exchange(copies_requested_at, frontier.admitted()) != frontier.admitted())
    offloading->notify_thread();
  return any;
}

// Handles the ops that the copy lane's thread has completed since the last call.
base::Result<bool> Interpreter::State::take_offloaded() {
  if (!offloading) return false;
  if (const auto failed = offloading->failure()) {
    is_at(failed->first);
    return base::fail(failed->second);
  }
  if (!offloading->take(offloaded)) return false;
  for (const CompletedCopy& one : offloaded)
    record_op(one.ready, one.begin_ns, one.begin_ns, one.end_ns, one.bytes, 0);
  return true;
}

base::Result<bool> Interpreter::State::move_transfers() {
  done.clear();
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
  auto moved = transfers->poll(done, meter.times.transfer_ns);
  if (!moved) {
    is_at(transfers->failed().ready);
    return moved;
  }
  if (*moved) lap();
  for (const Transfer& transfer : done) {
    if (parts.chunks != nullptr) parts.chunks->ends(transfer.ready);
    if (transfer.op->leaves_statistics) meter.capture(*transfer.op, transfer.ready.step);
    if (transfer.op->named.rows > 0)
      meter.carried_rows(transfer.op->named, transfer.bytes,
                         transfer.ready.instance > round_instance);
    finish(transfer.op->lane, transfer.ready, transfer.begin_ns, transfer.ready_ns, now_ns,
           transfer.bytes);
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

// Runs a load op. Returns false if its samples have not arrived yet.
bool Interpreter::State::load(const Frontier::Ready& ready) {
  const BoundLoad& into = *bound_program(ready.program).load(bound(ready).micro);
  if (evaluating) {
    held_out.load(*parts.compute, into);
  } else {
    const data::Batch* batch =
        rounds ? &rounds->take(ready.step, bound(ready).micro) : pipeline->try_next();
    if (batch == nullptr) return false;
    run::load(*parts.compute, *batch, into);
    if (pipeline) pipeline->release();
  }
  return true;
}

base::Result<bool> Interpreter::State::run_compute() {
  auto given = submit_compute();
  if (!given) return given;
  const auto taken = take_computed();
  return taken ? *given || *taken : taken;
}

// Submits the next compute op or chain, even before the device has finished earlier ones. Returns
// true if it submitted any.
base::Result<bool> Interpreter::State::submit_compute() {
  const auto ready = frontier.next_in_order(compute_lane);
  if (!ready) return false;
  Chains::Chain* const chain = chains ? chains->from(ready->program, ready->op) : nullptr;
  if (chain != nullptr ? !may_follow(*chain) : !may_follow(bound(*ready))) return false;
  if (computing.empty()) is_at(*ready);
  if (chain != nullptr) return give(*chain), true;
  const BoundOp& op = bound(*ready);
  frontier.start(compute_lane);
  if (op.kind == OpKind::pack) pack_rows(*parts.compute, op);
  if (op.kind == OpKind::rate && op.micro < 0) write_rate(*parts.bound, *parts.recipe, ready->step);
  if (op.kind == OpKind::rate && op.micro >= 0) parts.bound->rate.as<double>()[2] += 1;
  if (op.weighed) {
    const auto kernel = kernel_by_samples(*ready);
    if (!kernel) return base::fail(kernel.error());
    (*kernel)->enqueue(*queue);
  }
  for (const auto& kernel : op.kernels) kernel->enqueue(*queue);
  computing.push_back({*ready, queue->record(), now_ns});
  while (enqueue_uncaptured && !queue->reached(computing.back().mark)) std::this_thread::yield();
  return true;
}

// Returns the kernel of an op whose weight is the rank's fraction of samples. The kernels of all
// fractions of the run, which are few, are prepared when the op runs for the first time.
base::Result<compute::Kernel*> Interpreter::State::kernel_by_samples(const Frontier::Ready& ready) {
  const BoundOp& op = bound(ready);
  const plan::SampleCount count = plan::samples_to_average(*parts.plan, parts.schedule, ready.step);
  const auto known = kernels_by_samples.find({&op, count});
  if (known != kernels_by_samples.end()) return known->second.get();
  std::set<plan::SampleCount> counts = plan::all_samples_to_average(*parts.plan, parts.schedule);
  counts.insert(count);
  for (const plan::SampleCount& one : counts) {
    compute::WeightedSum sum = *op.weighed;
    sum.weights = {static_cast<double>(one.rank) / static_cast<double>(one.all_ranks)};
    auto prepared = parts.compute->prepare(sum);
    if (!prepared) return base::fail(prepared.error());
    kernels_by_samples[{&op, one}] = std::move(*prepared);
  }
  return kernels_by_samples.at({&op, count}).get();
}

// Submits a chain of ops to the device. All its ops may start when the first one may.
void Interpreter::State::give(Chains::Chain& chain) {
  std::uint64_t mark = chain.given->enqueue(*queue);
  for (std::size_t i = 0; i < chain.ops.size(); ++i, ++mark) {
    computing.push_back({*frontier.next_in_order(compute_lane), mark, now_ns});
    frontier.start(compute_lane);
  }
}

// True if the op may be submitted before earlier ones are complete. False if it needs work by the
// host, or overwrites a loss that the host reads when an earlier op completes. All other results
// are written once per step, and only one step is in progress.
bool Interpreter::State::may_follow(const BoundOp& op) const {
  if (computing.empty()) return true;
  if (enqueue_uncaptured || computing.size() == kGiven || needs_host(op)) return false;
  return !leaves_loss(op) || std::ranges::none_of(computing, [&](const Computing& before) {
    return leaves_loss(bound(before.ready));
  });
}

bool Interpreter::State::may_follow(const Chains::Chain& chain) const {
  return computing.size() + chain.ops.size() <= kGiven &&
         std::ranges::all_of(chain.ops, [&](const BoundOp* op) { return may_follow(*op); });
}

// Handles the ops that the device has completed, in order.
base::Result<bool> Interpreter::State::take_computed() {
  std::size_t count =
      !computing.empty() && queue->reached(computing.back().mark) ? computing.size() : 0;
  while (count < computing.size() && queue->reached(computing[count].mark)) ++count;
  if (count == 0) return false;
  is_at(computing.front().ready);
  if (const auto ran = queue->state(); !ran) return base::fail(in_given_ops(ran.error()));
  const std::int64_t before = lap(), seen_ns = now_ns;
  const std::uint64_t last = computing[count - 1].mark;
  for (std::size_t i = 0; i < count; ++i) {
    const Computing one = computing[i];
    const std::int64_t end_ns =
        i + 1 == count ? seen_ns : std::max(computed_ns, seen_ns - queue->between(one.mark, last));
    const std::int64_t begin_ns = std::min(std::max(one.begin_ns, computed_ns), end_ns);
    computed_ns = end_ns;
    if (const auto ok = computed(one.ready, begin_ns, end_ns); !ok) return base::fail(ok.error());
  }
  meter.times.compute_ns += now_ns - before;
  computing.erase(computing.begin(), computing.begin() + static_cast<std::ptrdiff_t>(count));
  return true;
}

base::Result<void> Interpreter::State::computed(const Frontier::Ready& ready, std::int64_t begin_ns,
                                                std::int64_t end_ns) {
  const BoundOp& op = bound(ready);
  is_at(ready);
  count(ready);
  const auto imposed = hold_back(ready, begin_ns);
  if (!imposed) return base::fail(imposed.error());
  if (const int versions = staleness.of(ready.program, ready.op); versions >= 0)
    meter.stale(ready.step, parts.plan->rank, versions, now_ns);
  if (!evaluating) meter.capture(op, ready.step);
  else if (op.kind == OpKind::loss) add_held_out();
  if (op.kind == OpKind::scale)
    if (auto ok = adjust_loss_scale(*parts.bound, parts.recipe->loss_scaling); !ok) return ok;
  if (auto ok = expect_finite(op, *parts.bound, *parts.recipe, *parts.model); !ok) return ok;
  finish(compute_lane, ready, begin_ns, begin_ns, end_ns + *imposed, 0, *imposed);
  return {};
}

// Advances the position of computation past the op. Called before the op is slowed: an offer that
// is answered during the delay must count the op's effect on the parameters.
void Interpreter::State::count(const Frontier::Ready& computed) {
  const std::int32_t ops = step_ops[static_cast<std::size_t>(computed.program)];
  if (ops == 0) return;
  place = place.ops + 1 == ops ? plan::StepPosition{computed.step + 1, 0}
                               : plan::StepPosition{computed.step, place.ops + 1};
}

// Slows an op: waits until the op that began at `begin_ns` has taken its intended time, and returns
// the waiting time in nanoseconds. Meanwhile the rank transfers data and answers offers, as a
// device does while it computes. All of this time counts as compute.
base::Result<std::int64_t> Interpreter::State::hold_back(const Frontier::Ready& ready,
                                                         std::int64_t begin_ns) {
  if (parts.slowness == nullptr || !parts.slowness->active()) return 0;
  const std::int64_t done_ns = now_ns, real_ns = done_ns - begin_ns;
  const std::int64_t target_end_ns =
      begin_ns + parts.slowness->target_ns(ready.program, ready.op, ready.step, real_ns);
  const std::int64_t transfer_ns = meter.times.transfer_ns;
  for (std::int64_t left_ns = target_end_ns - done_ns; left_ns > 0 && !parts.gate->closed();
       left_ns = target_end_ns - base::now_nanoseconds()) {
    if (const auto moved = move_transfers(); !moved) return base::fail(moved.error());
    if (const auto answered = answer(); !answered) return base::fail(answered.error());
    if (left_ns <= 2 * kAwakeBefore) std::this_thread::yield();
    else if (answering || (transfers && !transfers->empty()))
      transfers->wait(
          std::chrono::microseconds(std::min(left_ns - kAwakeBefore, kMaxSleep) / 1000));
    else
      std::this_thread::sleep_for(
          std::chrono::nanoseconds(std::min(left_ns - kAwakeBefore, kMaxSleep)));
    // counts progress while the rank waits, so that a slow rank is not reported as hung
    parts.rank_progress->ops_done.fetch_add(1, std::memory_order_relaxed);
  }
  lap();
  meter.times.transfer_ns = transfer_ns;
  is_at(ready);
  meter.record_slowed(parts.slowness->factor(ready.step), now_ns - done_ns,
                      parts.slowness->lateness_ns(ready.program, ready.op, ready.step, real_ns));
  return now_ns - done_ns;
}

void Interpreter::State::add_held_out() {
  loss_sum += parts.bound->metrics.as<double>()[0];
  correct += parts.bound->metrics.as<double>()[1];
}

// Called if no op can run: waits for the device, a peer, or the next batch. Adds the waiting time
// to the activity that the rank waits for.
base::Result<void> Interpreter::State::idle() {
  const bool computes = !computing.empty(),
             comm_waits = !computes && transfers && !transfers->empty();
  if (computes) {
    is_at(computing.front().ready);
    std::this_thread::yield();
  } else if (comm_waits) {
    is_at(transfers->oldest().ready);
    wait_for_peers(input_blocked ? kInputSlice : kWaitSlice, transfers->waits_for());
  } else if (input_blocked && answering) {
    is_at(*frontier.next(input_lane));
    wait_for_peers(kInputSlice, -1);
  } else if (offloading) {
    offloading->wait(input_blocked ? kInputSlice : kWaitSlice);
  } else if (input_blocked) {
    is_at(*frontier.next(input_lane));
    pipeline->wait_next();
  }
  const std::int64_t begin = lap();
  (computes                                       ? meter.times.compute_ns
   : comm_waits || (offloading && !input_blocked) ? meter.times.wait_ns
                                                  : meter.times.input_ns) += now_ns - begin;
  if (parts.gate->closed())
    return base::fail({"stopped", base::ProblemCode::canceled,
                       fmt::format("rank {}", parts.plan->rank), "the rank was stopped", "", ""});
  return {};
}

// Reads the clock, and returns the time of the previous reading.
std::int64_t Interpreter::State::lap() { return std::exchange(now_ns, base::now_nanoseconds()); }

void Interpreter::State::finish(LaneId lane, const Frontier::Ready& ready, std::int64_t begin,
                                std::int64_t peer_ready, std::int64_t end, std::int64_t bytes,
                                std::int64_t imposed_ns) {
  frontier.finish(lane, ready);
  if (offloading) offloading->notify_after(ready);
  record_op(ready, begin, peer_ready, end, bytes, imposed_ns);
}

void Interpreter::State::record_op(const Frontier::Ready& ready, std::int64_t begin,
                                   std::int64_t peer_ready, std::int64_t end, std::int64_t bytes,
                                   std::int64_t imposed_ns) {
  parts.rank_progress->ops_done.fetch_add(1, std::memory_order_relaxed);
  if (parts.record_ops && parts.events != nullptr)
    meter.op_event(ready.program, ready.op, ready.step, begin, peer_ready, end, bytes, imposed_ns);
}

void Interpreter::State::is_at(const Frontier::Ready& ready) {
  step_of_op = ready.step;
  parts.rank_progress->op.store({ready.program, ready.op}, std::memory_order_relaxed);
}

// Adds the current op to a Problem. Does not change a Problem from an abort elsewhere, which
// already names its op.
base::Problem Interpreter::State::in_op(base::Problem problem) const {
  if (transfers)
    if (const auto state = transfers->state(); !state && state.error() == problem) return problem;
  const auto [program, op] = parts.rank_progress->op.load();
  if (program < 0 || op < 0) return problem;
  const plan::Op& at =
      parts.plan->programs[static_cast<std::size_t>(program)].ops[static_cast<std::size_t>(op)];
  problem.where = fmt::format("rank {}, step {}, op {}{}{}", parts.plan->rank, step_of_op,
                              plan::token(at), problem.where.empty() ? "" : ": ", problem.where);
  return problem;
}

// Adds the range of submitted ops to a Problem: if there are several, the device does not report
// which one failed.
base::Problem Interpreter::State::in_given_ops(base::Problem problem) const {
  if (computing.size() < 2) return problem;
  const auto token = [this](const Computing& one) {
    return plan::token(parts.plan->programs[static_cast<std::size_t>(one.ready.program)]
                           .ops[static_cast<std::size_t>(one.ready.op)]);
  };
  problem.what += fmt::format(
      "; the failed op is this one or a later one up to {}, which the device had queued",
      token(computing.back()));
  return problem;
}

}  // namespace trainyard::run
