// SPDX-License-Identifier: GPL-3.0-or-later
// Softmax cross-entropy, norms and clipping in plain loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/compute/reference/linear.h"

namespace trainyard::compute::reference {

// One sample: writes its gradient when `gradient` is not null, adds to `metrics`.
template <class T>
void softmax_row(const T* logits, std::int64_t classes, int label, double scale, T* gradient, double* metrics) {
  const T* largest = std::max_element(logits, logits + classes);
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(logits[c]) - static_cast<double>(*largest));
  const bool known = label >= 0 && label < classes;
  const double own = known ? static_cast<double>(logits[label]) : std::numeric_limits<double>::quiet_NaN();
  metrics[0] += static_cast<double>(*largest) + std::log(sum) - own;
  metrics[1] += largest - logits == label ? 1 : 0;
  if (gradient == nullptr) return;
  for (std::int64_t c = 0; c < classes; ++c) {
    const double probability = std::exp(static_cast<double>(logits[c]) - static_cast<double>(*largest)) / sum;
    gradient[c] = static_cast<T>(scale * (probability - (c == label ? 1 : 0)));
  }
}

template <class T>
void run(const SoftmaxCrossEntropy& op) {
  const std::int64_t batch = op.logits.shape[0], classes = op.logits.shape[1];
  double* metrics = op.metrics.as<double>();
  metrics[0] = metrics[1] = 0;
  for (std::int64_t b = 0; b < batch; ++b) {
    T* gradient = op.gradient.empty() ? nullptr : op.gradient.as<T>() + b * classes;
    softmax_row(op.logits.as<T>() + b * classes, classes, op.labels.as<std::int32_t>()[b], op.scale, gradient, metrics);
  }
  metrics[0] *= op.part, metrics[1] *= op.part;
}

template <class T>
void run(const SquaredNorm& op) {
  *op.output.as<double>() = squared_norm<T>(op.input);
}

inline void run(const ClipFactor& op) {
  double sum = 0;
  for (std::int64_t i = 0; i < op.squared_norms.elements(); ++i) sum += op.squared_norms.as<double>()[i];
  const double unusable = op.skip_non_finite ? 0 : std::numeric_limits<double>::quiet_NaN();
  *op.factor.as<double>() = std::isfinite(sum) ? std::min(1.0, op.maximum / (std::sqrt(sum) + 1e-6)) : unusable;
}

inline void run(const Zero& op) {
  if (op.output.bytes() > 0) std::memset(op.output.data, 0, static_cast<std::size_t>(op.output.bytes()));
}

}  // namespace trainyard::compute::reference
