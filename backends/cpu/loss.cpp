// SPDX-License-Identifier: GPL-3.0-or-later
// Softmax cross-entropy, and the ops that are a handful of scalars.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/prepare.h"

namespace trainyard::cpu {
namespace {

using compute::Queue;

// One sample. Each exponential is taken once, in double: a loss near 0 is a small difference of large numbers.
template <class T>
void softmax_row(const T* logits, std::int64_t classes, std::int32_t label, double scale, T* gradient, double* metrics) {
  const auto largest = std::max_element(logits, logits + classes) - logits;
  const double shift = static_cast<double>(logits[largest]);
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    const double exponential = std::exp(static_cast<double>(logits[c]) - shift);
    sum += exponential;
    if (gradient != nullptr) gradient[c] = static_cast<T>(exponential);
  }
  const bool known = label >= 0 && label < classes;
  const double own = known ? static_cast<double>(logits[label]) - shift : std::numeric_limits<double>::quiet_NaN();
  metrics[0] += std::log(sum) - own;
  metrics[1] += largest == label ? 1 : 0;
  if (gradient == nullptr) return;
  for (std::int64_t c = 0; c < classes; ++c) gradient[c] = static_cast<T>(static_cast<double>(gradient[c]) * (scale / sum));
  if (known) gradient[label] = static_cast<T>(scale * (std::exp(own) / sum - 1));
}

template <class T>
PreparedKernel prepare_loss(const compute::SoftmaxCrossEntropy& op) {
  return make_kernel([op](Queue&) {
    const std::int64_t batch = op.logits.shape[0], classes = op.logits.shape[1];
    double metrics[2] = {0, 0};
    for (std::int64_t b = 0; b < batch; ++b) {
      T* gradient = op.gradient.empty() ? nullptr : op.gradient.as<T>() + b * classes;
      softmax_row(op.logits.as<T>() + b * classes, classes, op.labels.as<std::int32_t>()[b], op.scale, gradient, metrics);
    }
    for (int m = 0; m < 2; ++m) op.metrics.as<double>()[m] = op.part * metrics[m];
  });
}

}  // namespace

PreparedKernel prepare(const compute::SoftmaxCrossEntropy& op, const Device&) {
  return op.logits.dtype == compute::DType::fp64 ? prepare_loss<double>(op) : prepare_loss<float>(op);
}

PreparedKernel prepare(const compute::ClipFactor& op, const Device&) {
  return make_kernel([op](Queue&) {
    double sum = 0;
    for (std::int64_t i = 0; i < op.squared_norms.elements(); ++i) sum += op.squared_norms.as<double>()[i];
    const double unusable = op.skip_non_finite ? 0 : std::numeric_limits<double>::quiet_NaN();
    *op.factor.as<double>() = std::isfinite(sum) ? std::min(1.0, op.maximum / (std::sqrt(sum) + 1e-6)) : unusable;
  });
}

PreparedKernel prepare(const compute::Zero& op, const Device&) {
  return make_kernel([op](Queue&) {
    if (op.output.bytes() > 0) std::memset(op.output.data, 0, static_cast<std::size_t>(op.output.bytes()));
  });
}

}  // namespace trainyard::cpu
