// SPDX-License-Identifier: GPL-3.0-or-later
// Worker of parameter servers: runs rounds, which the first server assigns, instead of steps. A
// turn is the exchange with the servers between two rounds: the worker gets its next assignment and
// parameters.
#include "core/base/clock.h"
#include "core/run/interpreter/interpreter_state.h"

namespace trainyard::run {

// Runs a worker of parameter servers, round by round. Returns the number of completed steps.
base::Result<std::int64_t> Interpreter::State::run_rounds() {
  rounds =
      std::make_unique<RoundInput>(parts.dataset, parts.sampler, parts.plan->rank, max_loaded());
  row_names = std::make_unique<RowNames>(*rounds);
  meter.reset(base::now_nanoseconds());
  lap();
  write_request(0);
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

// Waits until `turns` turns are complete, and returns the assignment. While the rank waits, it
// reports the latest step that it may begin (the horizon), so that an idle rank does not hold back
// the others.
base::Result<WorkAssignment> Interpreter::State::await_turn(std::int64_t turns) {
  const BoundOp& op = bound_program(parts.plan->program("turn")).ops.front();
  while (frontier.completed(op.lane) < turns) {
    parts.rank_progress->step.store(parts.gate->horizon().step, std::memory_order_relaxed);
    const auto moved = progress();
    if (!moved) return base::fail(moved.error());
    if (*moved) continue;
    if (const auto ok = idle(); !ok) return base::fail(ok.error());
  }
  return WorkAssignment::read(reinterpret_cast<const double*>(op.data));
}

base::Result<void> Interpreter::State::run_round(const WorkAssignment& turn) {
  parts.rank_progress->step.store(turn.step, std::memory_order_relaxed);
  if (parts.save && parts.save_every_steps > 0 && turn.done / parts.save_every_steps > saved) {
    saved = turn.done / parts.save_every_steps;
    parts.save(saved * parts.save_every_steps);
  }
  if (turn.held) meter.reset(now_ns);
  // The worker requests the final parameters explicitly, because other servers may never answer in
  // this turn: no worker computes any more.
  if (turn.last && parts.plan->program("last") >= 0) {
    write_request(static_cast<double>(turn.gradients));
    if (auto ok = run_once("last", turn.done); !ok) return ok;
  }
  if (turn.last || turn.evaluates)
    if (auto ok = complete(frontier.admitted() - 1); !ok) return ok;
  if (turn.evaluates)
    if (auto ok = evaluate(turn.done - 1); !ok) return ok;
  if (turn.last) {
    write_request(kLeaves);
    return run_once("leave", turn.done);
  }
  return train_and_ask(turn.step);
}

// Trains a round. Opens the next turn before the round is complete, so that the worker reads a
// server's answer even if another server has not yet taken its gradient. Otherwise servers and
// workers could deadlock: each server could wait for readers of the version slot that it needs.
base::Result<void> Interpreter::State::train_and_ask(std::int64_t step) {
  const std::string program = parts.schedule.program(step);
  if (auto ok = admit(program, step); !ok) return ok;
  const std::int64_t trains = round_instance = frontier.admitted() - 1;
  if (auto ok = admit("turn", step); !ok) return ok;
  if (auto ok = complete(trains); !ok) return ok;
  lap();
  meter.step_done(step, now_ns, bound_program(parts.plan->program(program)), {});
  if (parts.rank_progress->first_step_done_ns.load(std::memory_order_relaxed) == 0)
    parts.rank_progress->first_step_done_ns.store(now_ns, std::memory_order_relaxed);
  return {};
}

void Interpreter::State::write_request(double value) {
  for (const BoundOp& op : bound_program(parts.plan->program("start")).ops)
    *reinterpret_cast<double*>(op.data) = value;
}

// Writes the list of table rows that the current round needs. Lists all rows if the worker
// will evaluate the parameters, or if they are the final ones.
void Interpreter::State::name_rows(const BoundOp& op) {
  const WorkAssignment turn = WorkAssignment::read(
      reinterpret_cast<const double*>(bound_program(parts.plan->program("turn")).ops.front().data));
  RowList(op.named.list)
      .write(turn.last ? std::span<const std::int32_t>() : row_names->of(turn.step, op.named),
             turn.last || turn.evaluates);
}

}  // namespace trainyard::run
