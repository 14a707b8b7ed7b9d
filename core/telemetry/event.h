// SPDX-License-Identifier: GPL-3.0-or-later
// What happened, in fixed-size records. An op event says when an op of a program began, when its
// peer was ready and when it was done; a metric event is one number of one step. Totals (bytes) are
// counters sampled as metrics, so that a dropped event never makes a total wrong.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/names.h"

namespace trainyard::telemetry {

enum class EventKind : std::uint8_t { op = 1, metric = 2 };

// Each is one number of one rank at one step; `index` says of which segment or peer where that
// applies. SI units.
enum class Metric : std::uint16_t {
  loss_sum = 1,  // over the rank's samples of this step
  correct = 2,   // samples of this step classified right
  samples = 3,   // samples of this step on this rank
  learning_rate = 4,
  local_gradient_norm =
      5,  // [segment] of this rank's own gradient, before reduction, as a mean over its own samples
  reduced_gradient_norm = 6,  // [segment] after reduction
  update_ratio = 7,           // [segment] |new - old| / |new|
  step_seconds = 8,         // wall time of the step; = compute + transfer + wait + input + overhead
  compute_seconds = 9,      // in compute ops, and on the way to them
  transfer_seconds = 10,    // moving or reducing bytes whose peer was ready, not hidden by compute
  wait_seconds = 11,        // nothing could run: a peer was not ready
  input_seconds = 12,       // bringing in the batch, or waiting for it with nothing else to run
  memory_bytes = 13,        // resident set of the process
  sent_payload_bytes = 14,  // [peer] total since the start
  received_payload_bytes = 15,
  sent_header_bytes = 16,
  received_header_bytes = 17,
  held_out_loss_sum =
      18,  // over the rank's share of the held-out samples; the step is the last one trained
  held_out_correct = 19,
  held_out_samples = 20,
  dropped_events = 21,  // total of events that this rank could not ship
  // Only of a rank that is slowed down or paced to its drawn speed.
  imposed_seconds =
      22,  // of the step's compute_seconds: waited, because ops were to take longer than they did
  slow_down = 23,                  // the factor of the step, jitter included
  slower_than_drawn_seconds = 24,  // total since the start by which paced ops took longer than they
                                   // would on the drawn device
  skipped_updates = 25,  // total of steps that changed no weight, for their gradients were not
                         // finite; only once there is one
  // Only where gradients are compressed.
  compression_ratio =
      26,              // bytes of the rank's gradient / bytes that it is encoded in, by the plan
  residual_norm = 27,  // L2 norm of what the rank's encoded gradient lacks; with error feedback it
                       // is kept for the next step
  // Only of a parameter server, at the round or the step of the gradient; the first also of a rank
  // that updates after every micro-batch, of itself.
  staleness =
      28,  // [worker] version when its gradient was applied minus version that it was computed by
  dropped_gradients = 29,  // [worker] total of its gradients that came too late, at the worker's
                           // step; only once there is one
  version = 30,            // updates so far
  // Only of ranks with parameters of their own.
  squared_disagreement = 31,  // squared L2 distance of the rank's parameters from the mean of all
                              // ranks'; the step is the last one trained
  averages = 32,  // total of its averages with one neighbour at a time, that it asked for or
                  // answered; only of such ranks, once there is one
  // Only of a worker that names rows of tables, of its round.
  table_ratio = 33,  // bytes of the tables, pulled and pushed whole / bytes of the rows that it was
                     // given and pushed, and of the lists that name them
  buffer_bytes = 34,  // [run::MemoryPart] of the rank's buffers for that, those that are in memory
  loss_scale = 35,    // by which the gradients of the step were multiplied; only of fp16
  // Only of a rank on a device that says so, of all that uses it (core/compute/device_use.h).
  device_busy = 36,                       // part of the last moments in which anything ran, 0 to 1
  device_memory_bytes = 37,               // taken
  device_watts = 38,                      // 0: it does not say
  device_received_bytes_per_second = 39,  // over the bus of its host
  device_sent_bytes_per_second = 40,
  device_links_received_bytes_per_second =
      41,  // over links to other devices, as NVLink; only of one that has any
  device_links_sent_bytes_per_second = 42,
};

struct Event {
  std::int64_t begin_ns = 0;  // CLOCK_MONOTONIC of the rank's host; of the sample, for a metric
  std::int64_t ready_ns = 0;  // op: the peer was ready (sends and receives); else begin_ns
  std::int64_t end_ns = 0;
  double value = 0;  // metric: the number; op: payload bytes that moved; of a collective that an
                     // engine took whole, by formula
  std::int32_t step = 0;      // counts optimizer steps from 0
  std::uint16_t subject = 0;  // op: its number in the program; metric: a Metric
  std::uint16_t index = 0;  // op: the program's number in the rank's plan; metric: segment or peer
  EventKind kind = EventKind::metric;
  std::uint8_t reserved[3] = {};
  float imposed_seconds =
      0;  // op: of the time before its end, waited because it was to take longer than it did
};
static_assert(sizeof(Event) == 48 && std::is_trivially_copyable_v<Event>);

}  // namespace trainyard::telemetry

template <>
struct trainyard::base::Names<trainyard::telemetry::Metric> {
  using M = trainyard::telemetry::Metric;
  static constexpr std::pair<M, std::string_view> table[] = {
      {M::loss_sum, "loss_sum"},
      {M::correct, "correct"},
      {M::samples, "samples"},
      {M::learning_rate, "learning_rate"},
      {M::local_gradient_norm, "local_gradient_norm"},
      {M::reduced_gradient_norm, "reduced_gradient_norm"},
      {M::update_ratio, "update_ratio"},
      {M::step_seconds, "step_seconds"},
      {M::compute_seconds, "compute_seconds"},
      {M::transfer_seconds, "transfer_seconds"},
      {M::wait_seconds, "wait_seconds"},
      {M::input_seconds, "input_seconds"},
      {M::memory_bytes, "memory_bytes"},
      {M::sent_payload_bytes, "sent_payload_bytes"},
      {M::received_payload_bytes, "received_payload_bytes"},
      {M::sent_header_bytes, "sent_header_bytes"},
      {M::received_header_bytes, "received_header_bytes"},
      {M::held_out_loss_sum, "held_out_loss_sum"},
      {M::held_out_correct, "held_out_correct"},
      {M::held_out_samples, "held_out_samples"},
      {M::dropped_events, "dropped_events"},
      {M::imposed_seconds, "imposed_seconds"},
      {M::slow_down, "slow_down"},
      {M::slower_than_drawn_seconds, "slower_than_drawn_seconds"},
      {M::skipped_updates, "skipped_updates"},
      {M::compression_ratio, "compression_ratio"},
      {M::residual_norm, "residual_norm"},
      {M::staleness, "staleness"},
      {M::dropped_gradients, "dropped_gradients"},
      {M::version, "version"},
      {M::squared_disagreement, "squared_disagreement"},
      {M::averages, "averages"},
      {M::table_ratio, "table_ratio"},
      {M::buffer_bytes, "buffer_bytes"},
      {M::loss_scale, "loss_scale"},
      {M::device_busy, "device_busy"},
      {M::device_memory_bytes, "device_memory_bytes"},
      {M::device_watts, "device_watts"},
      {M::device_received_bytes_per_second, "device_received_bytes_per_second"},
      {M::device_sent_bytes_per_second, "device_sent_bytes_per_second"},
      {M::device_links_received_bytes_per_second, "device_links_received_bytes_per_second"},
      {M::device_links_sent_bytes_per_second, "device_links_sent_bytes_per_second"}};
};
