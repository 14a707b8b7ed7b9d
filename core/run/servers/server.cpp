// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/servers/server.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/clock.h"
#include "core/comm/expect.h"
#include "core/run/servers/server_state.h"

namespace trainyard::run {

using base::Result;

Server::Server(ServerParts parts) : state_(std::make_unique<State>(std::move(parts))) {}
Server::~Server() = default;
Result<std::int64_t> Server::run() { return state_->run(); }
std::int64_t Server::version() const { return state_->arrivals.version(); }
compute::Tensor Server::parameters() const { return state_->share.parameters(); }

Result<std::int64_t> Server::State::run() {
  while (!over()) {
    if (parts.gate->closed())
      return base::fail({"stopped", base::ProblemCode::canceled,
                         fmt::format("rank {}", parts.plan->rank), "the rank was stopped", "", ""});
    if (const auto ok = parts.transport->state(); !ok) return base::fail(ok.error());
    if (leads) arrivals.allow(parts.gate->horizon().step);
    const auto moved = pass();
    if (!moved) return base::fail(moved.error());
    if (!*moved) wait_idle();
  }
  // reports memory at the end, when all version slots have been used
  memory.tell(step_made(), base::now_nanoseconds());
  if (leads) report_unapplied();
  return leads || parts.plan->rule->answers_after_update ? arrivals.steps() : last_step;
}

// Saves a checkpoint if one is due. If several steps complete at once, only the last due one is
// saved.
void Server::State::save() {
  if (parts.save_every_steps <= 0 || arrivals.steps() / parts.save_every_steps <= saved) return;
  saved = arrivals.steps() / parts.save_every_steps;
  parts.save(saved * parts.save_every_steps, arrivals.version());
}

// True if the server is done: every worker has joined and left, or is lost, and at least one has
// left.
bool Server::State::over() const {
  const auto left = [](const Worker& one) { return one.last_sent && !one.here; };
  return std::all_of(workers.begin(), workers.end(),
                     [&](const Worker& one) { return one.lost || left(one); }) &&
         std::any_of(workers.begin(), workers.end(), left);
}

// Polls the messages of all workers once; returns true if there were any. Each pass begins with
// another worker, for fairness. A push and the pull after it are one request: if the update rule
// permits, a worker that pushed is answered before the next worker is polled.
Result<bool> Server::State::pass() {
  if (const auto ok = disconnect_lost_workers().and_then([&] { return update_readers(); }); !ok)
    return base::fail(ok.error());
  bool moved = false;
  const int count = static_cast<int>(workers.size());
  for (int i = 0; i < count; ++i) {
    auto heard = receive_from((first_asked + i) % count);
    if (!heard) return heard;
    if (!*heard && i > 0) continue;
    auto given = give();
    if (!given) return given;
    moved = moved || *heard || *given;
  }
  first_asked = (first_asked + 1) % count;
  for (const auto part : {&State::send_final_answers, &State::answer_out_of_turn}) {
    auto given = (this->*part)();
    if (!given) return given;
    moved = moved || *given;
  }
  return moved;
}

Result<bool> Server::State::receive_from(int number) {
  const Worker& from = worker(number);
  const bool known = from.lost && !from.forgotten;
  // checks whether the worker is lost before it receives messages, so that messages that the worker
  // sent before its end are still handled
  const bool lost = !known && parts.transport->has_lost(from.rank);
  auto heard = poll_messages(number);
  if (!lost || !heard || *heard || (from.last_sent && !from.here)) return heard;
  mark_lost(number);
  return true;
}

// Removes a lost worker. Under a synchronous update rule, a gradient of this worker may still wait
// for the next update. The update can still read this gradient in the receive buffer.
void Server::State::mark_lost(int number) {
  Worker& from = worker(number);
  arrivals.leave(number);
  from.lost = true, from.forgotten = false;
  from.here = from.asks = from.last_sent = from.owes_rows = from.has_list = false;
  from.reads = -1;
}

// Removes workers whose death the coordinator reports, because no connection detects it: for
// example, a worker that had not connected yet.
void Server::State::take_failed_workers() {
  for (const auto& [rank, generation] : parts.gate->take_failed_peers())
    for (std::size_t number = 0; number < workers.size(); ++number) {
      const Worker& one = workers[number];
      if (one.rank == rank && one.generation == generation && (!one.lost || one.forgotten))
        mark_lost(static_cast<int>(number));
    }
}

Result<void> Server::State::disconnect_lost_workers() {
  take_failed_workers();
  for (std::size_t number = 0; number < workers.size(); ++number) {
    Worker& one = workers[number];
    if (!one.lost || one.forgotten ||
        std::find(held.begin(), held.end(), static_cast<int>(number)) != held.end())
      continue;
    if (auto ok = parts.transport->reconnect(one.rank, ++one.generation); !ok) return ok;
    std::fill(one.taken.begin(), one.taken.end(), 0);
    std::fill(one.posted.begin(), one.posted.end(), 0);
    std::fill(one.handed.begin(), one.handed.end(), 0);
    one.forgotten = true;
    note(plan::ServerEvent::Kind::leaves, static_cast<int>(number));
  }
  return {};
}

Result<bool> Server::State::poll_messages(int number) {
  Worker& from = worker(number);
  if (from.lost && !from.forgotten) return false;
  if (from.last_sent && !from.here) return false;
  auto asked = receive_request(number);
  if (asked && !*asked && from.owes_rows) return receive_row_list(from);
  if (!asked || *asked || !from.here || from.asks || arrivals.waits(number) || from.last_sent)
    return asked;  // after a request outside of program "turn", the worker pushes nothing
  auto whole = has_full_gradient(from);
  if (!whole || !*whole) return whole;
  return take_gradient(number).map([] { return true; });
}

// Handles a worker's wish: the worker joins, requests final parameters, or leaves.
Result<bool> Server::State::receive_request(int number) {
  Worker& from = worker(number);
  const auto message = front(from, 0);
  if (!message) return base::fail(message.error());
  if (!*message) return false;
  double request = 0;
  std::copy_n((*message)->data(), sizeof request, reinterpret_cast<std::byte*>(&request));
  if (const auto ok = parts.transport->release(from.rank, arrival.ops.front().channel); !ok)
    return base::fail(ok.error());
  ++from.taken[0];
  if (request == kLeaves) {
    arrivals.leave(number);
    note(plan::ServerEvent::Kind::leaves, number);
    from.here = false, from.last_sent = true, from.reads = -1;
  } else if (!from.here) {
    from.here = true, from.lost = false;
    arrivals.join(number);
    note(plan::ServerEvent::Kind::joins, number);
  } else {
    from.asks = true, from.request = request;
    last_step = std::max(last_step, parts.first_step + static_cast<std::int64_t>(request));
  }
  return true;
}

// Returns the first unread message of a worker on a channel, if there is one.
Result<std::optional<std::span<const std::byte>>> Server::State::front(const Worker& from,
                                                                       std::size_t op) {
  const BoundOp& takes = arrival.ops[op];
  const std::int64_t bytes = takes.bucket < 0 ? std::int64_t{sizeof(double)}
                                              : ServerShare::bytes_pushed(takes, from.number);
  const comm::Tag tag{from.generation, static_cast<std::uint32_t>(from.taken[op]), takes.transfer};
  return comm::receive_expected(*parts.transport, from.rank, takes.channel,
                                {tag, static_cast<std::size_t>(bytes)})
      .map([](const std::optional<comm::Message>& message) {
        return message ? std::optional(message->bytes) : std::nullopt;
      });
}

}  // namespace trainyard::run
