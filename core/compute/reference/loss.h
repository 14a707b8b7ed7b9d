// SPDX-License-Identifier: GPL-3.0-or-later
// Softmax cross-entropy, norms and clipping in plain loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/compute/reference/linear.h"

namespace trainyard::compute::reference {

// Processes one sample: writes its gradient if `gradient` is not null, and adds to `metrics`.
template <class T>
void softmax_row(const T* logits, std::int64_t classes, int label, double scale, T* gradient,
                 double* metrics) {
  const T* largest = std::max_element(logits, logits + classes);
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c)
    sum += std::exp(static_cast<double>(logits[c]) - static_cast<double>(*largest));
  const bool known = label >= 0 && label < classes;
  const double own =
      known ? static_cast<double>(logits[label]) : std::numeric_limits<double>::quiet_NaN();
  metrics[0] += static_cast<double>(*largest) + std::log(sum) - own;
  metrics[1] += largest - logits == label ? 1 : 0;
  if (gradient == nullptr) return;
  for (std::int64_t c = 0; c < classes; ++c) {
    const double probability =
        std::exp(static_cast<double>(logits[c]) - static_cast<double>(*largest)) / sum;
    gradient[c] = static_cast<T>(scale * (probability - (c == label ? 1 : 0)));
  }
}

template <class T>
void run(const SoftmaxCrossEntropy& op) {
  const std::int64_t batch = op.logits.shape[0], classes = op.logits.shape[1];
  double metrics[2] = {0, 0};
  for (std::int64_t b = 0; b < batch; ++b) {
    T* gradient = op.gradient.empty() ? nullptr : op.gradient.as<T>() + b * classes;
    softmax_row(op.logits.as<T>() + b * classes, classes, op.labels.as<std::int32_t>()[b],
                op.scale * loss_scale_value(op.loss_scale), gradient, metrics);
  }
  for (int m = 0; m < 2 && !op.metrics.empty(); ++m)
    op.metrics.as<double>()[m] = op.part * metrics[m];
}

template <class T>
void run(const SoftmaxSummary& op) {
  const std::int64_t batch = op.logits.shape[0], classes = op.logits.shape[1];
  for (std::int64_t b = 0; b < batch; ++b) {
    const T* const logits = op.logits.as<T>() + b * classes;
    const std::int64_t largest = std::max_element(logits, logits + classes) - logits,
                       label = op.labels.as<std::int32_t>()[b];
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c)
      sum += std::exp(static_cast<double>(logits[c]) - static_cast<double>(logits[largest]));
    double own = -std::numeric_limits<double>::infinity();
    if (label < 0 || label >= op.all_classes) own = std::numeric_limits<double>::quiet_NaN();
    else if (label >= op.first_class && label < op.first_class + classes)
      own = static_cast<double>(logits[label - op.first_class]);
    const double values[] = {static_cast<double>(logits[largest]),
                             static_cast<double>(op.first_class + largest), sum, own};
    for (std::int64_t v = 0; v < 4; ++v) op.summary.as<double>()[v * batch + b] = values[v];
  }
}

// Softmax statistics of one row, combined from the summaries of all parts of its classes.
struct SoftmaxOfRow {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0,
         own = -std::numeric_limits<double>::infinity();
  std::int64_t largest_class = -1;
};

inline SoftmaxOfRow softmax_of_row(const Tensor& summaries, std::int64_t row) {
  const std::int64_t parts = summaries.shape[0], batch = summaries.shape[2];
  const auto value = [&](std::int64_t part, std::int64_t v) {
    return summaries.as<double>()[(part * 4 + v) * batch + row];
  };
  SoftmaxOfRow of_row;
  for (std::int64_t k = 0; k < parts; ++k) {
    if (k == 0 || value(k, 0) > of_row.largest)
      of_row.largest = value(k, 0), of_row.largest_class = static_cast<std::int64_t>(value(k, 1));
    if (!(value(k, 3) <= of_row.own)) of_row.own = value(k, 3);
  }
  for (std::int64_t k = 0; k < parts; ++k)
    of_row.sum += value(k, 2) * std::exp(value(k, 0) - of_row.largest);
  return of_row;
}

template <class T>
void run(const SoftmaxCrossEntropyPart& op) {
  const std::int64_t batch = op.logits.shape[0], classes = op.logits.shape[1];
  double metrics[2] = {0, 0};
  for (std::int64_t b = 0; b < batch; ++b) {
    const SoftmaxOfRow row = softmax_of_row(op.summaries, b);
    const std::int64_t label = op.labels.as<std::int32_t>()[b];
    metrics[0] += std::log(row.sum) - (row.own - row.largest);
    metrics[1] += row.largest_class == label ? 1 : 0;
    for (std::int64_t c = 0; c < classes && !op.gradient.empty(); ++c) {
      const double probability =
          std::exp(static_cast<double>(op.logits.as<T>()[b * classes + c]) - row.largest) / row.sum;
      op.gradient.as<T>()[b * classes + c] =
          static_cast<T>(op.scale * loss_scale_value(op.loss_scale) *
                         (probability - (op.first_class + c == label ? 1 : 0)));
    }
  }
  for (int m = 0; m < 2 && !op.metrics.empty(); ++m)
    op.metrics.as<double>()[m] = op.part * metrics[m];
}

template <class T>
void run(const SquaredNorm& op) {
  *op.output.as<double>() = squared_norm<T>(op.input);
}

inline void run(const ClipFactor& op) {
  double sum = 0;
  for (std::int64_t i = 0; i < op.squared_norms.elements(); ++i)
    sum += op.squared_norms.as<double>()[i];
  const double unusable = op.skip_non_finite ? 0 : std::numeric_limits<double>::quiet_NaN(),
               times = loss_scale_value(op.loss_scale);
  *op.factor.as<double>() =
      (std::isfinite(sum) ? std::min(1.0, op.maximum / (std::sqrt(sum) / times + 1e-6))
                          : unusable) /
      times;
}

inline void run(const Zero& op) {
  if (op.output.bytes() > 0)
    std::memset(op.output.data, 0, static_cast<std::size_t>(op.output.bytes()));
}

}  // namespace trainyard::compute::reference
