// SPDX-License-Identifier: GPL-3.0-or-later
// Telemetry events: records of fixed size. An op event states when an op of a program began, when
// its peer was ready and when it ended. A metric event is one number of one step. Totals such as
// bytes are counters that are sampled as metrics, so a dropped event never makes a total wrong.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/base/names.h"

namespace trainyard::telemetry {

enum class EventKind : std::uint8_t { op = 1, metric = 2 };

// Each metric is a number of one rank at one step, in SI units. Some metrics also have an `index`,
// which the comments give in brackets: the segment or the peer.
enum class Metric : std::uint16_t {
  loss_sum = 1,  // Sum over the rank's samples of this step.
  correct = 2,   // Samples of this step classified correctly.
  samples = 3,   // Samples of this step on this rank.
  learning_rate = 4,
  // [segment] Norm of this rank's local gradient (mean over its samples) before reduction.
  local_gradient_norm = 5,
  reduced_gradient_norm = 6,  // [segment] Norm after reduction.
  // [segment] Norm of the parameters' change / norm of the new parameters.
  update_ratio = 7,
  step_seconds = 8,     // Wall time of the step: compute + transfer + wait + input + overhead.
  compute_seconds = 9,  // Time in compute ops, and for starting them.
  // Time for moving or reducing data of ready peers while no compute op ran.
  transfer_seconds = 10,
  wait_seconds = 11,  // Time in which nothing could run because a peer was not ready.
  // Time for loading the batch, or waiting for it with nothing else to run.
  input_seconds = 12,
  memory_bytes = 13,        // Resident set size of the process.
  sent_payload_bytes = 14,  // [peer] Total since the start.
  received_payload_bytes = 15,
  sent_header_bytes = 16,
  received_header_bytes = 17,
  held_out_loss_sum = 18,  // Sum over the rank's held-out samples. `step` is the last trained step.
  held_out_correct = 19,
  held_out_samples = 20,
  dropped_events = 21,  // Total number of events that this rank could not send.
  // The next three metrics are sent only by a rank that is slowed down or paced to its drawn speed.
  imposed_seconds = 22,  // Part of the step's compute_seconds spent waiting to make ops slower.
  slow_down = 23,        // Slow-down factor of the step, including jitter.
  // Total time since the start by which paced ops took longer than on the drawn device.
  slower_than_drawn_seconds = 24,
  // Total number of steps that changed no weight because gradients were not finite. Only sent if
  // above 0.
  skipped_updates = 25,
  // The next two metrics are sent only if gradients are compressed.
  compression_ratio = 26,  // Bytes of the rank's gradient / encoded bytes, from the plan.
  // L2 norm of the difference between the rank's gradient and its encoding. With error feedback the
  // difference is added to the next step's gradient.
  residual_norm = 27,
  // The next three metrics are sent by a parameter server, at the round or step of the gradient.
  // `staleness` is also sent by a rank that updates after every micro-batch, with its own rank as
  // the worker.

  // [worker] Number of the version to which the worker's gradient was applied, minus number of the
  // version from which it was computed.
  staleness = 28,
  // [worker] Total number of the worker's gradients that arrived too late, at the step of the
  // worker. Only sent if above 0.
  dropped_gradients = 29,
  version = 30,  // Number of updates so far.
  // Only sent by ranks with local parameters. Squared L2 distance of the rank's parameters from the
  // mean of all ranks. `step` is the last trained step.
  squared_consensus_distance = 31,
  // Total number of the rank's averages with one neighbor, requested or answered. Only for
  // asynchronous gossip, if above 0.
  averages = 32,
  // Only sent by a worker that pulls only some rows of tables, once per round. Ratio: bytes that
  // full tables would need, pulled and pushed / bytes of the needed rows and their indices, pulled
  // and pushed.
  table_ratio = 33,
  // [run::MemoryPurpose] Resident bytes of the rank's buffers for that purpose.
  buffer_bytes = 34,
  loss_scale = 35,  // Factor by which the step's loss and gradients are multiplied; only for fp16.
  // The remaining metrics are sent only by a rank on a device that reports them. They include all
  // programs that use the device (core/compute/device_use.h).
  device_busy = 36,  // Fraction of the last sampling period in which any kernel ran, 0 to 1.
  device_memory_bytes = 37,               // Memory in use.
  device_watts = 38,                      // 0 if the device does not report it.
  device_received_bytes_per_second = 39,  // Traffic over the bus of the device's host.
  device_sent_bytes_per_second = 40,
  device_links_received_bytes_per_second =
      // Traffic over links to other devices, such as NVLink. Only sent if the device has such
      // links.
  41,
  device_links_sent_bytes_per_second = 42,
  // Sent by the first parameter server at the end of a run. [worker] Total number of the worker's
  // gradients that were taken for an update that never completed, at the step of the worker. Only
  // sent if above 0.
  unapplied_gradients = 43,
};

struct Event {
  // Time in CLOCK_MONOTONIC of the rank's host. For a metric event, it is the time of sampling.
  std::int64_t begin_ns = 0;
  // For a send or a receive: time when the peer was ready. For other events, equal to begin_ns.
  std::int64_t ready_ns = 0;
  std::int64_t end_ns = 0;
  // For a metric event: the value. For an op event: payload bytes moved; for a collective of an
  // engine, these bytes are computed by formula.
  double value = 0;
  std::int32_t step = 0;  // Optimizer step, from 0.
  // For an op event: index of the op in the program. For a metric event: the Metric.
  std::uint16_t subject = 0;
  // For an op event: index of the program in the rank's plan. For a metric event: the segment or
  // peer that it is about.
  std::uint16_t index = 0;
  EventKind kind = EventKind::metric;
  std::uint8_t reserved[3] = {};
  // For an op event: artificial delay at the end of the op, which emulates a slower device.
  float imposed_seconds = 0;
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
      {M::unapplied_gradients, "unapplied_gradients"},
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
