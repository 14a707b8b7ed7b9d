// SPDX-License-Identifier: GPL-3.0-or-later
// Softmax cross-entropy, and ops on a few scalars.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/prepare.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {
namespace {

using compute::Queue;

// Computes the loss of one sample. Exponentials are computed once, in double, because a loss near 0
// is a small difference of large numbers.
template <class T>
void softmax_row(const T* logits, std::int64_t classes, std::int32_t label, double scale,
                 T* gradient, double* metrics) {
  const auto largest = std::max_element(logits, logits + classes) - logits;
  const double shift = static_cast<double>(logits[largest]);
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    const double exponential = std::exp(static_cast<double>(logits[c]) - shift);
    sum += exponential;
    if (gradient != nullptr) gradient[c] = static_cast<T>(exponential);
  }
  const bool known = label >= 0 && label < classes;
  const double own =
      known ? static_cast<double>(logits[label]) - shift : std::numeric_limits<double>::quiet_NaN();
  metrics[0] += std::log(sum) - own;
  metrics[1] += largest == label ? 1 : 0;
  if (gradient == nullptr) return;
  for (std::int64_t c = 0; c < classes; ++c)
    gradient[c] = static_cast<T>(static_cast<double>(gradient[c]) * (scale / sum));
  if (known) gradient[label] = static_cast<T>(scale * (std::exp(own) / sum - 1));
}

template <class T>
PreparedKernel prepare_loss(const compute::SoftmaxCrossEntropy& op) {
  return make_kernel([op](Queue&) {
    const std::int64_t batch = op.logits.shape[0], classes = op.logits.shape[1];
    const double scale = op.scale * compute::loss_scale_value(op.loss_scale);
    double metrics[2] = {0, 0};
    for (std::int64_t b = 0; b < batch; ++b) {
      T* gradient = op.gradient.empty() ? nullptr : op.gradient.as<T>() + b * classes;
      softmax_row(op.logits.as<T>() + b * classes, classes, op.labels.as<std::int32_t>()[b], scale,
                  gradient, metrics);
    }
    for (int m = 0; m < 2 && !op.metrics.empty(); ++m)
      op.metrics.as<double>()[m] = op.part * metrics[m];
  });
}

template <class T>
void summarize_row(const compute::SoftmaxSummary& op, std::int64_t row) {
  const std::int64_t batch = op.logits.shape[0], classes = op.logits.shape[1],
                     label = op.labels.as<std::int32_t>()[row];
  const T* const logits = op.logits.as<T>() + row * classes;
  const auto largest = std::max_element(logits, logits + classes) - logits;
  const auto shift = static_cast<double>(logits[largest]);
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c)
    sum += std::exp(static_cast<double>(logits[c]) - shift);
  double own = -std::numeric_limits<double>::infinity();
  if (label < 0 || label >= op.all_classes) own = std::numeric_limits<double>::quiet_NaN();
  else if (label >= op.first_class && label < op.first_class + classes)
    own = static_cast<double>(logits[label - op.first_class]);
  double* const summary = op.summary.as<double>() + row;
  summary[0] = shift;
  summary[batch] = static_cast<double>(op.first_class + largest);
  summary[2 * batch] = sum;
  summary[3 * batch] = own;
}

// Softmax statistics of one row. They combine the summaries of all shards of the classes, in the
// order of the shards.
struct SoftmaxOfRow {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0, own = largest;
  std::int64_t largest_class = -1;

  SoftmaxOfRow(const compute::Tensor& summaries, std::int64_t row) {
    const std::int64_t parts = summaries.shape[0], batch = summaries.shape[2];
    const double* const of_row = summaries.as<double>() + row;
    for (std::int64_t k = 0; k < parts; ++k) {
      const double* const part = of_row + 4 * k * batch;
      if (k == 0 || part[0] > largest)
        largest = part[0], largest_class = static_cast<std::int64_t>(part[batch]);
      if (!(part[3 * batch] <= own)) own = part[3 * batch];
    }
    for (std::int64_t k = 0; k < parts; ++k)
      sum += of_row[(4 * k + 2) * batch] * std::exp(of_row[4 * k * batch] - largest);
  }
};

template <class T>
void add_shard_loss(const compute::SoftmaxCrossEntropyPart& op, std::int64_t b, double* metrics) {
  const std::int64_t classes = op.logits.shape[1], label = op.labels.as<std::int32_t>()[b];
  const SoftmaxOfRow row(op.summaries, b);
  metrics[0] += std::log(row.sum) - (row.own - row.largest);
  metrics[1] += row.largest_class == label ? 1 : 0;
  if (op.gradient.empty()) return;
  const T* const logits = op.logits.as<T>() + b * classes;
  T* const gradient = op.gradient.as<T>() + b * classes;
  const double scale = op.scale * compute::loss_scale_value(op.loss_scale);
  for (std::int64_t c = 0; c < classes; ++c)
    gradient[c] =
        static_cast<T>(std::exp(static_cast<double>(logits[c]) - row.largest) * (scale / row.sum));
  const std::int64_t own = label - op.first_class;
  if (own >= 0 && own < classes)
    gradient[own] = static_cast<T>(
        scale * (std::exp(static_cast<double>(logits[own]) - row.largest) / row.sum - 1));
}

template <class T>
PreparedKernel prepare_summary(const compute::SoftmaxSummary& op) {
  return make_kernel([op](Queue&) {
    for (std::int64_t b = 0; b < op.logits.shape[0]; ++b) summarize_row<T>(op, b);
  });
}

template <class T>
PreparedKernel prepare_part(const compute::SoftmaxCrossEntropyPart& op) {
  return make_kernel([op](Queue&) {
    double metrics[2] = {0, 0};
    for (std::int64_t b = 0; b < op.logits.shape[0]; ++b) add_shard_loss<T>(op, b, metrics);
    for (int m = 0; m < 2 && !op.metrics.empty(); ++m)
      op.metrics.as<double>()[m] = op.part * metrics[m];
  });
}

}  // namespace

PreparedKernel prepare(const compute::SoftmaxSummary& op, const Device&) {
  return op.logits.dtype == compute::DType::fp64 ? prepare_summary<double>(op)
                                                 : prepare_summary<float>(op);
}

PreparedKernel prepare(const compute::SoftmaxCrossEntropyPart& op, const Device&) {
  return op.logits.dtype == compute::DType::fp64 ? prepare_part<double>(op)
                                                 : prepare_part<float>(op);
}

PreparedKernel prepare(const compute::SoftmaxCrossEntropy& op, const Device&) {
  return op.logits.dtype == compute::DType::fp64 ? prepare_loss<double>(op)
                                                 : prepare_loss<float>(op);
}

PreparedKernel prepare(const compute::ClipFactor& op, const Device&) {
  return make_kernel([op](Queue&) {
    double sum = 0;
    for (std::int64_t i = 0; i < op.squared_norms.elements(); ++i)
      sum += op.squared_norms.as<double>()[i];
    const double unusable = op.skip_non_finite ? 0 : std::numeric_limits<double>::quiet_NaN(),
                 times = compute::loss_scale_value(op.loss_scale);
    *op.factor.as<double>() =
        (std::isfinite(sum) ? std::min(1.0, op.maximum / (std::sqrt(sum) / times + 1e-6))
                            : unusable) /
        times;
  });
}

PreparedKernel prepare(const compute::Zero& op, const Device&) {
  return make_kernel([op](Queue&) {
    if (op.output.bytes() > 0)
      std::memset(op.output.data, 0, static_cast<std::size_t>(op.output.bytes()));
  });
}

}  // namespace trainyard::cpu
