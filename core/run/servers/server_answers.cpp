// SPDX-License-Identifier: GPL-3.0-or-later
// Answers of a server, and the version slot from which each is sent. Workers are sent an immutable
// version.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/clock.h"
#include "core/run/servers/server_state.h"

namespace trainyard::run {
using base::Result;

// Returns a version slot that no worker reads and that is not the current one; -1 if there is none.
int Server::State::find_free_slot() const {
  for (int i = 1; i < share.places(); ++i) {
    const int place = (share.place() + i) % share.places();
    if (std::none_of(workers.begin(), workers.end(),
                     [&](const Worker& one) { return one.reads == place; }))
      return place;
  }
  return -1;
}

// Waits until a version slot is free, and returns the slot. A worker that hangs blocks only the
// slot that it reads.
Result<int> Server::State::await_free_slot() {
  for (int place = find_free_slot();; place = find_free_slot()) {
    if (place >= 0) return place;
    if (const auto ok = receive_all_row_lists().and_then([&] { return update_readers(); }); !ok)
      return base::fail(ok.error());
    if (const auto ok = parts.transport->state(); !ok) return base::fail(ok.error());
    if (parts.gate->closed()) return share.next_place();
    if (find_free_slot() < 0) parts.transport->wait(kServerWaits);
  }
}

Result<void> Server::State::update_readers() {
  for (Worker& to : workers) {
    if (to.reads < 0 || to.owes_rows) continue;
    const auto all = consumed(to, answer, to.posted);
    if (!all) return base::fail(all.error());
    const auto rows = *all && named != nullptr ? consumed(to, *named, to.handed) : all;
    if (!rows) return base::fail(rows.error());
    if (!*rows) continue;
    to.reads = -1;
    const std::int64_t now = base::now_nanoseconds();
    for (std::size_t op = leads ? 1 : 0; op < answer.ops.size(); ++op)
      op_event("answer", op, to.given_ns, now, answer.ops[op].bytes);
    for (std::size_t op = 0; named != nullptr && op < named->ops.size(); ++op)
      if (named->ops[op].kind == plan::OpKind::give)
        op_event("named", op, to.given_ns, now,
                 ServerShare::bytes_wanted(named->ops[op], to.number));
  }
  return {};
}

// True if a worker has consumed everything that this program's ops sent to it.
Result<bool> Server::State::consumed(const Worker& by, const BoundProgram& program,
                                     const std::vector<std::uint64_t>& posted) {
  for (std::size_t op = 0; op < program.ops.size(); ++op) {
    if (program.ops[op].kind != plan::OpKind::give) continue;
    const auto count = parts.transport->consumed(by.rank, program.ops[op].channel);
    if (!count) return base::fail(count.error());
    if (*count < posted[op]) return false;
  }
  return true;
}

Result<bool> Server::State::give() {
  bool moved = false;
  if (const auto ok = poll_row_lists(); !ok) return base::fail(ok.error());
  while (const auto given =
             arrivals.answer([this](int number) { return !awaits_row_list(worker(number)); })) {
    WorkAssignment turn =
        turns.next(*given, arrivals.steps(), gathered, may_evaluate(given->worker));
    turn.held = std::exchange(was_held, false);
    if (const auto ok = give(given->worker, turn); !ok) return base::fail(ok.error());
    moved = true;
  }
  return moved;
}

// Sends the final parameters to waiting workers when no work is left, and lets them leave. One of
// them evaluates the final parameters.
Result<bool> Server::State::send_final_answers() {
  if (!leads || !arrivals.is_exhausted()) return false;
  const Gate::Horizon horizon = parts.gate->horizon();
  if (!horizon.last || arrivals.steps() < horizon.step) {
    was_held = true;
    return false;
  }
  bool moved = false;
  for (std::size_t number = 0; number < workers.size(); ++number) {
    Worker& to = workers[number];
    if (!to.here || to.last_sent || !arrivals.waits(static_cast<int>(number))) continue;
    to.last_sent = true;
    const WorkAssignment last =
        turns.last(arrivals.steps(), gathered, may_evaluate(static_cast<int>(number)));
    if (const auto ok = give(static_cast<int>(number), last); !ok) return base::fail(ok.error());
    moved = true;
  }
  return moved;
}

// True if some connected worker may still push a gradient. Does not count lost workers, whose
// gradient may never arrive here even if the first server has taken it.
bool Server::State::expects_gradients() const {
  return std::any_of(workers.begin(), workers.end(),
                     [](const Worker& one) { return one.here && !one.asks && !one.last_sent; });
}

Result<bool> Server::State::answer_out_of_turn() {
  bool moved = false;
  for (std::size_t number = 0; number < workers.size(); ++number) {
    Worker& to = workers[number];
    if (!to.asks || to.reads >= 0 || awaits_row_list(to) ||
        (static_cast<double>(gathered) < to.request && expects_gradients()))
      continue;
    // First answers the last gradient of the worker if that answer is still due: the update would
    // need gradients of other workers that will not arrive.
    const bool owed = arrivals.waits(static_cast<int>(number));
    if (owed) arrivals.leave(static_cast<int>(number));
    else to.asks = false, to.last_sent = true;
    if (const auto ok = give(static_cast<int>(number), {}); !ok) return base::fail(ok.error());
    moved = true;
  }
  return moved;
}

Result<void> Server::State::give(int number, const WorkAssignment& turn) {
  is_at("answer");
  Worker& to = worker(number);
  note(plan::ServerEvent::Kind::gives, number, [&](plan::ServerEvent& event) {
    event.step = turn.step, event.evaluates = turn.evaluates, event.last = to.last_sent,
    event.version = arrivals.version();
  });
  share.save_given(number);
  to.reads = share.place();
  to.owes_rows = named != nullptr;
  to.given_ns = base::now_nanoseconds();
  for (std::size_t op = 0; op < answer.ops.size(); ++op) {
    const BoundOp& gives = answer.ops[op];
    const std::byte* data = share.given_by(gives);
    std::size_t bytes = static_cast<std::size_t>(gives.bytes);
    if (gives.bucket < 0) {
      double* numbers = reinterpret_cast<double*>(gives.data) + number * WorkAssignment::kNumbers;
      turn.write(numbers);
      data = reinterpret_cast<const std::byte*>(numbers);
      bytes = WorkAssignment::kNumbers * sizeof(double);
    }
    const comm::Tag tag{to.generation, static_cast<std::uint32_t>(to.posted[op]), gives.transfer};
    const auto accepted = parts.transport->post(to.rank, gives.channel, tag, {data, bytes});
    if (!accepted) return base::fail(accepted.error());
    if (!*accepted) return base::fail(full_line(to.rank));
    ++to.posted[op];
  }
  return named != nullptr && !leads ? receive_row_list(to).map([](bool) {}) : Result<void>{};
}

base::Problem Server::State::full_line(int rank) const {
  return {"channel_full",
          base::ProblemCode::failed,
          fmt::format("rank {}", parts.plan->rank),
          fmt::format("the channel to rank {} is full", rank),
          "one reply in flight",
          ""};
}

}  // namespace trainyard::run
