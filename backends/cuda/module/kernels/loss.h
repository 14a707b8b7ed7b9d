// SPDX-License-Identifier: GPL-3.0-or-later
// Softmax cross-entropy, with one team (thread block) per row; norms and clipping.
#pragma once

#include <limits>

#include "backends/cuda/module/kernels/sums.h"

namespace trainyard::cuda {

// Softmax state of a row: the largest logit, the index of its first occurrence, and the sum of
// exp(logit - largest).
struct Softmax {
  double largest;
  std::int64_t place;
  double sum;
};

template <class W>
ON_DEVICE Softmax softmax_of(const Team& team, const Tensor& logits, std::int64_t first,
                             std::int64_t classes) {
  Ranked own{-std::numeric_limits<double>::infinity(), std::numeric_limits<std::int64_t>::max()};
  for_row<W>(team, logits, first, classes, [&](std::int64_t c, W logit) {
    if (logit > own.value || own.place > c) own = {static_cast<double>(logit), c};
  });
  const Ranked largest = team.first_maximum(own);
  double sum = 0;
  for_row<W>(team, logits, first, classes, [&](std::int64_t, W logit) {
    sum += static_cast<double>(std::exp(logit - static_cast<W>(largest.value)));
  });
  return {largest.value, largest.place, team.sum(sum)};
}

// Factor by which a loss gradient is multiplied: a constant, or a value in device memory.
struct LossScale {
  double number;
  const double* held;  // null: the factor is `number`

  ON_DEVICE double get() const { return held != nullptr ? *held : number; }
};

// Copies the loss scale to device memory once, because the host writes it to memory that the device
// reads slowly.
template <class OneOp>
LossScale scale_of(Stream& stream, const OneOp& op, double* memory) {
  if (op.gradient.empty() || op.loss_scale.empty()) return {op.scale, nullptr};
  for_each(stream, 1,
           [=] ON_DEVICE(std::int64_t) { *memory = op.scale * *as<double>(op.loss_scale); });
  return {op.scale, memory};
}

// Computes scale (softmax - [class = label]) for the classes of a row.
template <class W>
ON_DEVICE void differentiate(const Team& team, const Tensor& logits, const Tensor& gradient,
                             std::int64_t row, const Softmax& of, std::int64_t label,
                             const LossScale& of_loss) {
  const std::int64_t classes = logits.shape[1];
  if (gradient.empty()) return;
  const auto scale = static_cast<W>(of_loss.get());
  for_row<W>(team, logits, row * classes, classes, [&](std::int64_t c, W logit) {
    const W probability = std::exp(logit - static_cast<W>(of.largest)) / static_cast<W>(of.sum);
    put(gradient, row * classes + c, scale * (probability - (c == label ? 1 : 0)));
  });
}

// Contribution of one row to the metrics: its loss, and 1 if its prediction is correct.
struct RowMetrics {
  double loss, correct;
};

// Computes metrics = part {sum of losses, number of correct rows}.
inline void sum_metrics(Stream& stream, const RowMetrics* rows, std::int64_t count, double part,
                        const Tensor& metrics, double* memory) {
  if (metrics.empty()) return;
  sum_all<2>(
      stream, count, memory,
      [=] ON_DEVICE(std::int64_t row) {
        return Sums<2>{{rows[row].loss, rows[row].correct}};
      },
      [=] ON_DEVICE(const Sums<2>& all) {
        for (int m = 0; m < 2; ++m) as<double>(metrics)[m] = part * all.value[m];
      });
}

template <class OneOp>
std::int64_t bytes_of_loss(const OneOp& op) {
  return op.logits.shape[0] * static_cast<std::int64_t>(sizeof(RowMetrics)) + bytes_of_sums(2) +
         static_cast<std::int64_t>(sizeof(double));
}
inline std::int64_t scratch_bytes(const compute::SoftmaxCrossEntropy& op) {
  return bytes_of_loss(op);
}
inline std::int64_t scratch_bytes(const compute::SoftmaxCrossEntropyPart& op) {
  return bytes_of_loss(op);
}

template <class W>
void run(Stream& stream, const compute::SoftmaxCrossEntropy& op, std::byte* scratch) {
  const std::int64_t batch = op.logits.shape[0], classes = op.logits.shape[1];
  auto* const rows = reinterpret_cast<RowMetrics*>(scratch + sizeof(double));
  const LossScale scale = scale_of(stream, op, reinterpret_cast<double*>(scratch));
  for_teams(stream, batch, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
    const std::int64_t first = row * classes, label = as<std::int32_t>(op.labels)[row];
    const Softmax of = softmax_of<W>(team, op.logits, first, classes);
    const bool known = label >= 0 && label < classes;
    const double own = known ? static_cast<double>(get<W>(op.logits, first + label))
                             : std::numeric_limits<double>::quiet_NaN();
    if (team.rank == 0)
      rows[row] = {of.largest + std::log(of.sum) - own, of.place == label ? 1.0 : 0.0};
    differentiate<W>(team, op.logits, op.gradient, row, of, label, scale);
  });
  sum_metrics(stream, rows, batch, op.part, op.metrics, reinterpret_cast<double*>(rows + batch));
}

template <class W>
void run(Stream& stream, const compute::SoftmaxSummary& op) {
  const std::int64_t batch = op.logits.shape[0], classes = op.logits.shape[1];
  for_teams(stream, batch, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
    const std::int64_t first = row * classes, label = as<std::int32_t>(op.labels)[row];
    const Softmax of = softmax_of<W>(team, op.logits, first, classes);
    if (team.rank != 0) return;
    double own = -std::numeric_limits<double>::infinity();
    if (label < 0 || label >= op.all_classes) own = std::numeric_limits<double>::quiet_NaN();
    else if (label >= op.first_class && label < op.first_class + classes)
      own = get<W>(op.logits, first + label - op.first_class);
    const double values[] = {of.largest, static_cast<double>(op.first_class + of.place), of.sum,
                             own};
    for (std::int64_t v = 0; v < 4; ++v) as<double>(op.summary)[v * batch + row] = values[v];
  });
}

// Softmax state of a row, combined from the summaries of all shards of the classes, and the logit
// of the row's label.
struct CombinedSoftmax {
  Softmax of;
  double own;
};

ON_DEVICE inline CombinedSoftmax full_softmax(const Tensor& summaries, std::int64_t row) {
  const std::int64_t count = summaries.shape[0], batch = summaries.shape[2];
  const double* const values = as<double>(summaries) + row;
  CombinedSoftmax all{{-std::numeric_limits<double>::infinity(), -1, 0},
                      -std::numeric_limits<double>::infinity()};
  for (std::int64_t k = 0; k < count; ++k) {
    const double* const part = values + k * 4 * batch;
    if (k == 0 || part[0] > all.of.largest)
      all.of.largest = part[0], all.of.place = static_cast<std::int64_t>(part[batch]);
    if (!(part[3 * batch] <= all.own)) all.own = part[3 * batch];
  }
  for (std::int64_t k = 0; k < count; ++k)
    all.of.sum += values[(k * 4 + 2) * batch] * std::exp(values[k * 4 * batch] - all.of.largest);
  return all;
}

template <class W>
void run(Stream& stream, const compute::SoftmaxCrossEntropyPart& op, std::byte* scratch) {
  const std::int64_t batch = op.logits.shape[0];
  auto* const rows = reinterpret_cast<RowMetrics*>(scratch + sizeof(double));
  const LossScale scale = scale_of(stream, op, reinterpret_cast<double*>(scratch));
  for_teams(stream, batch, 0, [=] ON_DEVICE(const Team& team, std::int64_t row) {
    const CombinedSoftmax all = full_softmax(op.summaries, row);
    const std::int64_t label = as<std::int32_t>(op.labels)[row];
    if (team.rank == 0)
      rows[row] = {std::log(all.of.sum) - (all.own - all.of.largest),
                   all.of.place == label ? 1.0 : 0.0};
    differentiate<W>(team, op.logits, op.gradient, row, all.of, label - op.first_class, scale);
  });
  sum_metrics(stream, rows, batch, op.part, op.metrics, reinterpret_cast<double*>(rows + batch));
}

inline std::int64_t scratch_bytes(const compute::SquaredNorm&) { return bytes_of_sums(1); }

template <class W>
void run(Stream& stream, const compute::SquaredNorm& op, std::byte* scratch) {
  square<W>(stream, op.input, {}, op.output, reinterpret_cast<double*>(scratch));
}

template <class W>
void run(Stream& stream, const compute::ClipFactor& op) {
  for_teams(stream, 1, 0, [=] ON_DEVICE(const Team& team, std::int64_t) {
    double own = 0;
    for (std::int64_t i = team.rank; i < op.squared_norms.elements(); i += team.size)
      own += as<double>(op.squared_norms)[i];
    const double sum = team.sum(own),
                 times = op.loss_scale.empty() ? 1 : *as<double>(op.loss_scale),
                 wanted = op.maximum / (std::sqrt(sum) / times + 1e-6);
    const double unusable = op.skip_non_finite ? 0 : std::numeric_limits<double>::quiet_NaN();
    if (team.rank == 0)
      *as<double>(op.factor) = (!std::isfinite(sum) ? unusable : wanted < 1 ? wanted : 1) / times;
  });
}

}  // namespace trainyard::cuda
