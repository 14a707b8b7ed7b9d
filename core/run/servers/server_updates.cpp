// SPDX-License-Identifier: GPL-3.0-or-later
// Gradients and updates of a server. Gradients are taken on arrival, or summed when all have
// arrived; then follows an update.
#include <algorithm>

#include "core/base/clock.h"
#include "core/run/servers/server_state.h"

namespace trainyard::run {

using base::Result;
using telemetry::Metric;

Result<bool> Server::State::has_full_gradient(const Worker& from) {
  for (std::size_t op = 1; op < arrival.ops.size(); ++op) {
    const auto message = front(from, op);
    if (!message) return base::fail(message.error());
    if (!*message) return false;
  }
  return true;
}

Result<void> Server::State::take_gradient(int number) {
  is_at("arrival");
  const plan::ArrivalQueue::Push push = arrivals.push(number);
  ++gathered;
  note(plan::ServerEvent::Kind::takes, number, [&](plan::ServerEvent& event) {
    event.dropped = push.dropped, event.completes = push.completes, event.version = push.pulled,
    event.staleness = push.staleness;
  });
  report_staleness(number, push);
  if (push.dropped) return release(worker(number));
  stale.push_back(push.staleness);
  taken.emplace_back(number, step_of(push));
  if (parts.plan->rule->answers_after_update) {
    held.push_back(number);
    if (!push.completes) return {};
    if (auto ok = add_held(); !ok) return ok;
  } else if (auto ok = add(number, stale.size() == 1); !ok) {
    return ok;
  }
  return push.completes ? make_update() : Result<void>{};
}

Result<void> Server::State::add(int number, bool first) {
  Worker& from = worker(number);
  for (std::size_t op = 1; op < arrival.ops.size(); ++op) {
    const BoundOp& takes = arrival.ops[op];
    const auto message = front(from, op);
    if (!message) return base::fail(message.error());
    const std::int64_t begin = base::now_nanoseconds();
    share.take_pushed(op, (*message)->data(), first, number);
    report_op("arrival", op, begin, ServerShare::bytes_pushed(takes, number));
  }
  return release(from);
}

Result<void> Server::State::add_held() {
  std::sort(held.begin(), held.end());
  for (std::size_t op = 1; op < arrival.ops.size(); ++op) {
    sources.clear();
    std::int64_t bytes = 0;
    for (const int number : held) {
      const auto message = front(worker(number), op);
      if (!message) return base::fail(message.error());
      sources.push_back((*message)->data());
      bytes += std::ssize(**message);
    }
    const std::int64_t begin = base::now_nanoseconds();
    share.add_pushed(op, sources, held);
    report_op("arrival", op, begin, bytes);
  }
  for (const int number : held)
    if (auto ok = release(worker(number)); !ok) return ok;
  held.clear();
  return {};
}

Result<void> Server::State::release(Worker& from) {
  for (std::size_t op = 1; op < arrival.ops.size(); ++op) {
    if (auto ok = parts.transport->release(from.rank, arrival.ops[op].channel); !ok) return ok;
    ++from.taken[op];
  }
  return {};
}

Result<void> Server::State::make_update() {
  is_at("update");
  const auto place = await_free_slot();
  if (!place) return base::fail(place.error());
  if (auto ok = share.scale(parts.average.factor(taken)); !ok) return ok;
  const double rate = share.begin_update(arrivals.version(), arrivals.steps() - 1, stale, *place);
  stale.clear();
  taken.clear();
  for (std::size_t op = 0; op < update.ops.size(); ++op) {
    const std::int64_t begin = base::now_nanoseconds();
    if (auto ran = share.run_update(op); !ran) return ran;
    report_op("update", op, begin, 0);
  }
  share.end_update();
  metric(Metric::learning_rate, rate);
  metric(Metric::version, static_cast<double>(arrivals.version()));
  memory.report_if_due(step_made(), base::now_nanoseconds());
  if (parts.rank_progress->first_step_done_ns.load(std::memory_order_relaxed) == 0)
    parts.rank_progress->first_step_done_ns.store(base::now_nanoseconds(),
                                                  std::memory_order_relaxed);
  save();
  return {};
}

}  // namespace trainyard::run
