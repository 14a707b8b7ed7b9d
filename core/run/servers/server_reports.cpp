// SPDX-License-Identifier: GPL-3.0-or-later
// Reports of a server: order log, metrics, op events, and progress.
#include <algorithm>
#include <thread>

#include "core/base/clock.h"
#include "core/plan/text.h"
#include "core/run/control/slowness.h"
#include "core/run/servers/server_state.h"

namespace trainyard::run {
using telemetry::Metric;

// Returns the step that the worker of a gradient uses in its own report.
std::int64_t Server::State::step_of(const plan::ArrivalQueue::Push& push) const {
  return parts.plan->rule->answers_after_update ? push.pulled : push.round;
}

// Reports a dropped gradient, or the staleness of a gradient that was taken. If all workers compute
// the same step, both are reported under the step that the worker uses in its own report.
void Server::State::report_staleness(int number, const plan::ArrivalQueue::Push& push) {
  const int rank = worker(number).rank;
  if (push.dropped)
    metric_of(step_of(push), Metric::dropped_gradients,
              static_cast<double>(++dropped[static_cast<std::size_t>(number)]), rank);
  else
    metric_of(parts.plan->rule->answers_after_update ? step_of(push) : step_made(),
              Metric::staleness, static_cast<double>(push.staleness), rank);
  parts.rank_progress->step.store(arrivals.steps(), std::memory_order_relaxed);
  parts.rank_progress->ops_done.fetch_add(1, std::memory_order_relaxed);
}

// Reports the gradients of the last update if the run ended before the update was complete.
void Server::State::report_unapplied() {
  std::vector<std::int64_t> count(workers.size());
  for (const auto& [number, step] : taken)
    metric_of(step, Metric::unapplied_gradients,
              static_cast<double>(++count[static_cast<std::size_t>(number)]), worker(number).rank);
}

// Adds an event to the order log. A run can be replayed from the events of all servers.
void Server::State::note(plan::ServerEvent::Kind kind, int number,
                         const std::function<void(plan::ServerEvent&)>& fill) {
  if (parts.order == nullptr) return;
  plan::ServerEvent event;
  event.kind = kind, event.server = parts.number, event.worker = number;
  event.done = arrivals.steps(), event.time_ns = base::now_nanoseconds();
  if (fill) fill(event);
  parts.order->write(event);
}

void Server::State::metric(Metric metric, double value, int index) {
  metric_of(step_made(), metric, value, index);
}

void Server::State::metric_of(std::int64_t step, Metric metric, double value, int index) {
  if (parts.events == nullptr) return;
  const std::int64_t now = base::now_nanoseconds();
  parts.events->write({now, now, now, value, static_cast<std::int32_t>(step),
                       static_cast<std::uint16_t>(metric), static_cast<std::uint16_t>(index),
                       telemetry::EventKind::metric});
}

// Reports an op. Waits first if the op is slowed or paced to take longer.
void Server::State::report_op(const char* program_name, std::size_t op, std::int64_t begin,
                              std::int64_t bytes) {
  const std::int64_t done = base::now_nanoseconds(), real = done - begin;
  std::int64_t target_end = real;
  if (parts.slowness != nullptr && parts.slowness->active())
    target_end = parts.slowness->target_ns(parts.plan->program(program_name), static_cast<int>(op),
                                           step_made(), real);
  std::int64_t now = done;
  while (now < begin + target_end && !parts.gate->closed()) {
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(std::min(begin + target_end - now, kMaxSleep)));
    // counts progress while the server waits, so that a slow server is not reported as hung
    parts.rank_progress->ops_done.fetch_add(1, std::memory_order_relaxed);
    now = base::now_nanoseconds();
  }
  op_event(program_name, op, begin, now, bytes, now - done);
}

void Server::State::op_event(const char* program_name, std::size_t op, std::int64_t begin,
                             std::int64_t end, std::int64_t bytes, std::int64_t imposed_ns) {
  if (parts.events == nullptr || !parts.record_ops) return;
  const auto step = static_cast<std::int32_t>(step_made());
  parts.events->write({begin,
                       begin,
                       end,
                       static_cast<double>(bytes),
                       step,
                       static_cast<std::uint16_t>(op),
                       static_cast<std::uint16_t>(parts.plan->program(program_name)),
                       telemetry::EventKind::op,
                       {},
                       static_cast<float>(base::seconds(imposed_ns))});
}

void Server::State::is_at(const char* program_name) {
  parts.rank_progress->op.store({parts.plan->program(program_name), 0}, std::memory_order_relaxed);
}

// Waits for messages. Meanwhile the server reports the op that takes the next message, and the
// horizon as its step, because it is idle; the first server reports its step count.
void Server::State::wait_idle() {
  is_at("arrival");
  parts.rank_progress->step.store(
      leads ? arrivals.steps() : std::max(arrivals.steps(), parts.gate->horizon().step),
      std::memory_order_relaxed);
  parts.transport->wait(kServerWaits);
}

}  // namespace trainyard::run
