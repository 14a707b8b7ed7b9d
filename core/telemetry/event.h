// SPDX-License-Identifier: GPL-3.0-or-later
// Telemetry events in fixed-size records. An op event states when an op of a program began, when
// its peer was ready and when it ended. A metric event is one number of one step. Totals (bytes)
// are counters sampled as metrics, so a dropped event never makes a total wrong.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/names.h"

namespace trainyard::telemetry {

enum class EventKind : std::uint8_t { op = 1, metric = 2 };

// Each metric is a number of one rank at one step. `index` is the segment or peer where that
// applies. SI units.
enum class Metric : std::uint16_t {
  loss_sum = 1,  // Over the rank's samples of this step.
  correct = 2,   // Samples of this step classified correctly.
  samples = 3,   // Samples of this step on this rank.
  learning_rate = 4,
  local_gradient_norm =
      5,  // [segment] of this rank's local gradient before reduction, as a mean over its samples.
  reduced_gradient_norm = 6,  // [segment] after reduction.
  // [segment] |new - old| / |new|.
  update_ratio = 7,
  step_seconds = 8,         // Wall time of the step: compute + transfer + wait + input + overhead.
  compute_seconds = 9,      // In compute ops, and while starting them.
  transfer_seconds = 10,    // Moving or reducing bytes whose peer was ready, not hidden by compute.
  wait_seconds = 11,        // Nothing could run: a peer was not ready.
  input_seconds = 12,       // Loading the batch, or waiting for it with nothing else to run.
  memory_bytes = 13,        // Resident set of the process.
  sent_payload_bytes = 14,  // [peer] total since the start.
  received_payload_bytes = 15,
  sent_header_bytes = 16,
  received_header_bytes = 17,
  held_out_loss_sum = 18,  // Over the rank's held-out samples; the step is the last one trained.
  held_out_correct = 19,
  held_out_samples = 20,
  dropped_events = 21,  // Total of events that this rank could not send.
  // Only for a rank that is slowed down or paced to its drawn speed.
  imposed_seconds = 22,  // Part of the step's compute_seconds spent waiting to make ops slower.
  slow_down = 23,        // Factor of the step, including jitter.
  // Total time since the start by which paced ops took longer than on the drawn device.
  slower_than_drawn_seconds = 24,
  // Total of steps that changed no weight because gradients were not finite; only if above 0.
  skipped_updates = 25,
  // Only if gradients are compressed.
  compression_ratio = 26,  // Bytes of the rank's gradient / encoded bytes, from the plan.
  // L2 norm of the difference between the rank's gradient and its encoding; with error feedback it
  // is carried over to the next step.
  residual_norm = 27,
  // Only for a parameter server, at the round or step of the gradient. `staleness` also for a rank
  // that updates after every micro-batch, about itself.
  staleness =
      28,  // [worker] version when its gradient was applied minus version it was computed with.
  // [worker] total of its gradients that arrived too late, at the worker's step; only if above 0.
  dropped_gradients = 29,
  version = 30,  // Updates so far.
  // Only for ranks with local parameters.
  // Squared L2 distance of the rank's parameters from the mean of all ranks; the step is the last
  // one trained.
  squared_consensus_distance = 31,
  // Total of its averages with one neighbor at a time, that it asked for or answered. Only for
  // asynchronous gossip, if above 0.
  averages = 32,
  // Only for a worker that pulls rows of tables, per round.
  // Bytes of full tables pulled and pushed / bytes of the rows that it pulled and pushed, including
  // row indices.
  table_ratio = 33,
  // [run::MemoryPurpose] bytes of the rank's buffers for that purpose that are in memory.
  buffer_bytes = 34,
  loss_scale = 35,  // Factor of the step's loss and gradients; only for fp16.
  // Only for a rank on a device that reports it; covers everything that uses the device
  // (core/compute/device_use.h).
  device_busy = 36,  // Fraction of the last sampling period in which any kernel ran, 0 to 1.
  device_memory_bytes = 37,               // Memory in use.
  device_watts = 38,                      // 0: not reported.
  device_received_bytes_per_second = 39,  // Over the bus of its host.
  device_sent_bytes_per_second = 40,
  device_links_received_bytes_per_second =
      41,  // Over links to other devices, such as NVLink; only if the device has any.
  device_links_sent_bytes_per_second = 42,
};

struct Event {
  // CLOCK_MONOTONIC of the rank's host; for a metric, the time of sampling.
  std::int64_t begin_ns = 0;
  std::int64_t ready_ns = 0;  // Op: when the peer was ready (sends and receives); else begin_ns.
  std::int64_t end_ns = 0;
  // Metric: the number. Op: payload bytes moved; for a collective executed by an engine, by
  // formula.
  double value = 0;
  std::int32_t step = 0;      // Optimizer step, from 0.
  std::uint16_t subject = 0;  // Op: its number in the program. Metric: a Metric.
  std::uint16_t index = 0;  // Op: the program's number in the rank's plan. Metric: segment or peer.
  EventKind kind = EventKind::metric;
  std::uint8_t reserved[3] = {};
  float imposed_seconds = 0;  // Op: seconds before its end spent waiting to make it slower.
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
      {M::squared_consensus_distance, "squared_disagreement"},
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
