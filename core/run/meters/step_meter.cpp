// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/meters/step_meter.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/clock.h"

namespace trainyard::run {
namespace {

using telemetry::EventKind;
using telemetry::Metric;

template <class Is>
bool any_op(const BoundPlan& bound, Is is) {
  return std::any_of(bound.programs.begin(), bound.programs.end(),
                     [&](const BoundProgram& program) {
                       return std::any_of(program.ops.begin(), program.ops.end(), is);
                     });
}

std::uint64_t messages(const comm::Traffic& traffic) {
  return traffic.sent_messages + traffic.received_messages;
}

}  // namespace

StepMeter::StepMeter(telemetry::EventRing* events, comm::Transport* transport,
                     const model::Model& model, const BoundPlan& bound, bool is_own_process)
    : events_(events),
      transport_(transport),
      model_(model),
      bound_(bound),
      own_process_(is_own_process),
      memory_(events, bound, is_own_process),
      updates_(any_op(bound, [](const BoundOp& op) { return op.kind == plan::OpKind::update; })),
      reported_messages_(transport != nullptr ? static_cast<std::size_t>(transport->ranks()) : 0) {
  for (Captured& slot : captured_) {
    slot.local_norms.resize(model.segments.size());
    slot.statistics.resize(3 * model.segments.size());
    if (!bound.squared_errors.empty())
      slot.squared_errors.resize(static_cast<std::size_t>(bound.squared_errors.elements()));
  }
}

void StepMeter::capture(const BoundOp& op, std::int64_t step) {
  Captured& slot = captured(step);
  const auto s = static_cast<std::size_t>(op.segment);
  if (op.leaves_loss) {
    // the first loss of a step resets the sums; losses of later micro-steps are added to the sums
    if (op.leaves_first_loss) slot.loss_sum = slot.correct = 0;
    slot.loss_sum += bound_.metrics.as<double>()[0];
    slot.correct += bound_.metrics.as<double>()[1];
  }
  if ((op.leaves_norm || op.kind == plan::OpKind::clip) && !bound_.loss_scale.empty())
    slot.loss_scale = *bound_.loss_scale.as<double>();
  if (op.leaves_norm) {
    const auto owner = static_cast<std::size_t>(model_.owner(op.segment));
    slot.local_norms[owner] = bound_.local_norms.as<double>()[owner];
  }
  if (op.leaves_statistics)
    std::copy_n(bound_.statistics.as<double>(), slot.statistics.size(), slot.statistics.begin());
  if (op.kind == plan::OpKind::decode) {
    const auto b = static_cast<std::size_t>(op.bucket);
    slot.squared_errors[b] = bound_.squared_errors.as<double>()[b];
  }
  if (op.kind == plan::OpKind::update) {
    slot.skipped = !bound_.factor.empty() && *bound_.factor.as<double>() == 0;
    if (!bound_.sums_statistics)
      std::copy_n(bound_.statistics.as<double>() + 3 * s, 3,
                  slot.statistics.begin() + static_cast<std::ptrdiff_t>(3 * s));
  }
}

void StepMeter::op_event(int program, int op, std::int64_t step, std::int64_t begin_ns,
                         std::int64_t ready_ns, std::int64_t end_ns, std::int64_t bytes,
                         std::int64_t imposed_ns) {
  events_->write({begin_ns,
                  ready_ns,
                  end_ns,
                  static_cast<double>(bytes),
                  static_cast<std::int32_t>(step),
                  static_cast<std::uint16_t>(op),
                  static_cast<std::uint16_t>(program),
                  EventKind::op,
                  {},
                  static_cast<float>(base::seconds(imposed_ns))});
}

void StepMeter::record_slowed(double factor, std::int64_t imposed_ns, std::int64_t late_ns) {
  holds_back_ = true;
  factor_ = factor;
  times.imposed_ns += imposed_ns;
  late_ns_ += late_ns;
}

// Reports how much ops were slowed. Continues after the last slowed op, so that a chart shows the
// end of the slowdown.
void StepMeter::imposed_metrics(std::int64_t step) {
  if (!holds_back_) return;
  metric(Metric::imposed_seconds, step, base::seconds(times.imposed_ns));
  metric(Metric::slow_down, step, times.imposed_ns > 0 ? factor_ : 1);
  if (late_ns_ > 0) metric(Metric::slower_than_drawn_seconds, step, base::seconds(late_ns_));
}

void StepMeter::compression_metrics(std::int64_t step) {
  if (bound_.compression_ratio == 0) return;
  const auto& errors = captured(step).squared_errors;
  metric(Metric::compression_ratio, step, bound_.compression_ratio);
  metric(Metric::residual_norm, step,
         std::sqrt(std::accumulate(errors.begin(), errors.end(), 0.0)));
}

void StepMeter::stale(std::int64_t step, int rank, int versions, std::int64_t now_ns) {
  now_ns_ = now_ns;
  if (events_ != nullptr) metric(Metric::staleness, step, versions, rank);
}

void StepMeter::carried_rows(const NamedRows& table, std::int64_t bytes, bool of_next_round) {
  Tables& round = of_next_round ? tables_of_next_ : tables_;
  round.bytes += bytes;
  if (!table.is_list) round.full_bytes += table.rows * table.row_bytes;
}

void StepMeter::table_metric(std::int64_t step) {
  if (tables_.bytes > 0)
    metric(Metric::table_ratio, step,
           static_cast<double>(tables_.full_bytes) / static_cast<double>(tables_.bytes));
  tables_ = std::exchange(tables_of_next_, {});
}

void StepMeter::metric(Metric metric, std::int64_t step, double value, int index) {
  events_->write({now_ns_, now_ns_, now_ns_, value, static_cast<std::int32_t>(step),
                  static_cast<std::uint16_t>(metric), static_cast<std::uint16_t>(index),
                  EventKind::metric});
}

void StepMeter::step_done(std::int64_t step, std::int64_t end_ns, const BoundProgram& program,
                          std::optional<double> learning_rate, std::int64_t share) {
  now_ns_ = end_ns;
  if (events_ != nullptr) {
    metric(Metric::step_seconds, step, base::seconds(end_ns - times.begin_ns));
    // traffic must be reported after the step's time and before the step's samples: readers divide
    // traffic by this time, and assign it to the samples that follow
    traffic_metrics(step);
    metric(Metric::loss_sum, step, captured(step).loss_sum);
    metric(Metric::correct, step, captured(step).correct);
    metric(Metric::samples, step, static_cast<double>(program.samples));
    if (learning_rate) metric(Metric::learning_rate, step, *learning_rate);
    // the slowdown must precede the metrics that every rank reports: if these arrive without a
    // slowdown, readers conclude that this rank reports no slowdown
    imposed_metrics(step);
    metric(Metric::compute_seconds, step, base::seconds(times.compute_ns));
    metric(Metric::transfer_seconds, step, base::seconds(times.transfer_ns));
    metric(Metric::wait_seconds, step, base::seconds(times.wait_ns));
    metric(Metric::input_seconds, step, base::seconds(times.input_ns));
    gradient_metrics(step, program, share);
    skipped_metric(step);
    if (!bound_.loss_scale.empty()) metric(Metric::loss_scale, step, captured(step).loss_scale);
    compression_metrics(step);
    table_metric(step);
    // On the virtual clock, no real time passes, and a rank has no separate process, transport or
    // arenas, so its memory is not reported.
    if (own_process_ || transport_ != nullptr) memory_.report_if_due(step, end_ns);
  }
  times = {end_ns};
}

// Reports gradient norms, without the loss scale. The reduced gradient is the mean over all samples
// of the step; only ranks that update report its norm. The local norm is the norm of the mean
// gradient over the rank's local samples. If the rank's program counts no samples, the mean is over
// the samples of its share. The norm is zero without samples. A segment has no local norm in this
// step if the rank never holds its full gradient.
void StepMeter::gradient_metrics(std::int64_t step, const BoundProgram& program,
                                 std::int64_t share) {
  const double scale = captured(step).loss_scale;
  const std::int64_t samples = program.samples > 0 ? program.samples : share;
  const double own =
      (samples > 0 ? static_cast<double>(program.gradient_samples()) / static_cast<double>(samples)
                   : 1.0) /
      scale;
  for (std::size_t s = 0; s < model_.segments.size(); ++s) {
    if (model_.segments[s].elements == 0) continue;  // segments without parameters have no norms
    const double* statistics = captured(step).statistics.data() + 3 * s;
    const int index = static_cast<int>(s);
    if (program.leaves_norm[s])
      metric(Metric::local_gradient_norm, step, std::sqrt(captured(step).local_norms[s]) * own,
             index);
    if (!updates_) continue;
    if (!program.averages_weights)
      metric(Metric::reduced_gradient_norm, step, std::sqrt(statistics[0]) / scale, index);
    metric(Metric::update_ratio, step,
           statistics[2] > 0 ? std::sqrt(statistics[1] / statistics[2]) : 0.0, index);
  }
}

void StepMeter::skipped_metric(std::int64_t step) {
  skipped_updates_ += captured(step).skipped ? 1 : 0;
  if (skipped_updates_ > 0)
    metric(Metric::skipped_updates, step, static_cast<double>(skipped_updates_));
}

void StepMeter::traffic_metrics(std::int64_t step) {
  if (transport_ == nullptr) return;
  reported_step_ = step;
  for (int peer = 0; peer < transport_->ranks(); ++peer) {
    if (peer == transport_->rank()) continue;
    if (const comm::Traffic traffic = transport_->traffic(peer); messages(traffic) > 0)
      traffic_metric(step, peer, traffic);
  }
}

// Reports traffic between two steps, for example of an evaluation. Readers compute the rate of a
// step as the difference between the totals of this step and of the previous step. So the new
// totals are reported again under the previous step, and traffic between steps is not counted in
// any rate.
void StepMeter::traffic_between_steps() {
  for (std::size_t peer = 0; peer < reported_messages_.size(); ++peer) {
    const comm::Traffic traffic = reported_messages_[peer] > 0
                                      ? transport_->traffic(static_cast<int>(peer))
                                      : comm::Traffic();
    if (messages(traffic) > reported_messages_[peer])
      traffic_metric(reported_step_, static_cast<int>(peer), traffic);
  }
}

void StepMeter::traffic_metric(std::int64_t step, int peer, const comm::Traffic& traffic) {
  reported_messages_[static_cast<std::size_t>(peer)] = messages(traffic);
  metric(Metric::sent_payload_bytes, step, static_cast<double>(traffic.sent_payload_bytes), peer);
  metric(Metric::received_payload_bytes, step, static_cast<double>(traffic.received_payload_bytes),
         peer);
  metric(Metric::sent_header_bytes, step, static_cast<double>(traffic.sent_header_bytes), peer);
  metric(Metric::received_header_bytes, step, static_cast<double>(traffic.received_header_bytes),
         peer);
}

void StepMeter::reset(std::int64_t now_ns) {
  now_ns_ = now_ns;
  if (events_ != nullptr) traffic_between_steps();
  times = {now_ns};
}

void StepMeter::evaluated(std::int64_t step, double loss_sum, double correct, std::int64_t samples,
                          std::int64_t end_ns) {
  if (events_ != nullptr) {
    now_ns_ = end_ns;
    metric(Metric::held_out_loss_sum, step, loss_sum);
    metric(Metric::held_out_correct, step, correct);
    metric(Metric::held_out_samples, step, static_cast<double>(samples));
  }
  reset(end_ns);
}

void StepMeter::averaged_in_pairs(std::int64_t step, std::int64_t averages) {
  if (events_ == nullptr || averages == 0) return;
  now_ns_ = base::now_nanoseconds();
  metric(Metric::averages, step, static_cast<double>(averages));
}

void StepMeter::averaged(std::int64_t step) {
  if (events_ != nullptr) {
    now_ns_ = base::now_nanoseconds();
    const double* spread = bound_.spread.as<double>();
    metric(Metric::squared_consensus_distance, step,
           std::accumulate(spread, spread + bound_.spread.elements(), 0.0));
  }
  reset(base::now_nanoseconds());
}

}  // namespace trainyard::run
