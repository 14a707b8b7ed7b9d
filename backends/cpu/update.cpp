// SPDX-License-Identifier: GPL-3.0-or-later
// Optimizers: one pass over parameters, gradient and moments, which also computes the statistics of
// the update (compute::UpdateInputs).
#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/prepare.h"
#include "backends/cpu/threads.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {
namespace {

using compute::Queue;
using compute::UpdateInputs;

double factor_of(const UpdateInputs& common) {
  return common.factor.empty() ? 1 : *common.factor.as<double>();
}

template <class T>
double squared_distance(const T* from, const T* to, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double difference = static_cast<double>(to[i]) - static_cast<double>(from[i]);
    sum += difference * difference;
  }
  return sum;
}

// Skips the update of an optimizer: copies `origin` to the destination, or `parameters` if `origin`
// is empty. Writes the statistics of a skipped update.
template <class T>
void skip(const UpdateInputs& in) {
  double* statistics = in.statistics.as<double>();
  std::fill_n(statistics, 3, 0.0);
  kernels<T>().squared_norm(in.gradient.as<T>(), 0, in.gradient.elements(), statistics);
  if (!in.origin.empty())
    statistics[1] =
        squared_distance(in.parameters.as<T>(), in.origin.as<T>(), in.parameters.elements());
  kernels<T>().squared_norm(in.start().as<T>(), 0, in.parameters.elements(), statistics + 2);
  if (in.destination().data != in.start().data)
    std::copy_n(in.start().data, in.parameters.bytes(), in.destination().data);
}

template <class T>
PreparedKernel prepare_sgd(const compute::SgdUpdate& op, const Device& device) {
  const UpdateInputs& common = op.common;
  return make_kernel(
      [op, sums = BlockSums<3>(device.cores, common.parameters.elements())](Queue&) mutable {
        const UpdateInputs& in = op.common;
        if (factor_of(in) == 0) return skip<T>(in);
        const SgdArguments<T> arguments{
            .parameters = in.parameters.as<T>(),
            .gradient = in.gradient.as<T>(),
            .origin = in.start().as<T>(),
            .updated = in.destination().as<T>(),
            .moment = op.momentum != 0 ? op.moment.template as<T>() : nullptr,
            .rate = *in.learning_rate.as<double>(),
            .factor = factor_of(in),
            .momentum = op.momentum,
            .weight_decay = op.weight_decay};
        sums([&](std::int64_t begin, std::int64_t end,
                 double* statistics) { kernels<T>().sgd(arguments, begin, end, statistics); },
             in.statistics.as<double>());
      });
}

template <class T>
PreparedKernel prepare_adam(const compute::AdamUpdate& op, const Device& device) {
  const UpdateInputs& common = op.common;
  return make_kernel(
      [op, sums = BlockSums<3>(device.cores, common.parameters.elements())](Queue&) mutable {
        const UpdateInputs& in = op.common;
        if (factor_of(in) == 0) return skip<T>(in);
        const double step = *op.step.as<double>();
        const AdamArguments<T> arguments{.parameters = in.parameters.as<T>(),
                                         .gradient = in.gradient.as<T>(),
                                         .origin = in.start().as<T>(),
                                         .updated = in.destination().as<T>(),
                                         .first_moment = op.first_moment.template as<T>(),
                                         .second_moment = op.second_moment.template as<T>(),
                                         .rate = *in.learning_rate.as<double>(),
                                         .factor = factor_of(in),
                                         .beta1 = op.beta1,
                                         .beta2 = op.beta2,
                                         .epsilon = op.epsilon,
                                         .weight_decay = op.weight_decay,
                                         .correction1 = 1 - std::pow(op.beta1, step),
                                         .correction2 = 1 - std::pow(op.beta2, step),
                                         .decoupled = op.decoupled};
        sums([&](std::int64_t begin, std::int64_t end,
                 double* statistics) { kernels<T>().adam(arguments, begin, end, statistics); },
             in.statistics.as<double>());
      });
}

}  // namespace

PreparedKernel prepare(const compute::SgdUpdate& op, const Device& device) {
  return op.common.parameters.dtype == compute::DType::fp64 ? prepare_sgd<double>(op, device)
                                                            : prepare_sgd<float>(op, device);
}

PreparedKernel prepare(const compute::AdamUpdate& op, const Device& device) {
  return op.common.parameters.dtype == compute::DType::fp64 ? prepare_adam<double>(op, device)
                                                            : prepare_adam<float>(op, device);
}

}  // namespace trainyard::cpu
