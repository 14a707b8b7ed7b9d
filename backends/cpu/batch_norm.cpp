// SPDX-License-Identifier: GPL-3.0-or-later
// Batch normalization in our own loops. It is memory-bound, and synchronized statistics need its
// steps as separate ops (see core/compute/ops.h).
#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/cpu/activation.h"
#include "backends/cpu/channel_sums.h"
#include "backends/cpu/norm.h"
#include "backends/cpu/prepare.h"
#include "backends/cpu/threads.h"

namespace trainyard::cpu {
namespace {

using compute::DType;
using compute::Queue;
using compute::Tensor;

// Per-channel arguments of the loops, converted to the dtype in which the loops compute.
template <class T>
struct Channels {
  explicit Channels(std::int64_t count)
      : mean(static_cast<std::size_t>(count)),
        scale(mean.size()),
        shift(mean.size()),
        slope(mean.size()),
        columns(count) {}

  ChannelArguments<T> arguments() const {
    return {nullptr,     nullptr,      nullptr,      columns,
            mean.data(), scale.data(), shift.data(), slope.data()};
  }

  std::vector<T> mean, scale, shift, slope;
  std::int64_t columns;
};

struct Moments {
  double mean, variance;

  double inverse_deviation(double epsilon) const { return 1 / std::sqrt(variance + epsilon); }
};

Moments moments_of(const Tensor& sums, std::int64_t channel) {
  const std::int64_t columns = (sums.elements() - 1) / 2;
  const double *sum = sums.as<double>(), samples = sum[2 * columns], mean = sum[channel] / samples;
  return {mean, std::max(0.0, sum[columns + channel] / samples - mean * mean)};
}

double samples_of(const Tensor& sums) { return sums.as<double>()[sums.elements() - 1]; }

template <class T>
void update_running(const Tensor& running, std::int64_t element, double momentum, double now) {
  if (!std::isfinite(now)) return;
  T& followed = running.as<T>()[element];
  followed = static_cast<T>(static_cast<double>(followed) +
                            momentum * (now - static_cast<double>(followed)));
}

template <class T>
void update_running_stats(const compute::BatchNormForward& op) {
  const std::int64_t columns = columns_of(op.input);
  const double samples = samples_of(op.sums), unbiased = samples > 1 ? samples / (samples - 1) : 1;
  for (std::int64_t c = 0; c < columns; ++c) {
    const Moments moments = moments_of(op.sums, c);
    update_running<T>(op.running, c, op.momentum, moments.mean);
    update_running<T>(op.running, columns + c, op.momentum, moments.variance * unbiased);
  }
}

template <class T>
void set_channel(Channels<T>& channels, std::int64_t c, const Moments& moments, double epsilon,
                 const Tensor& weight, const Tensor& bias) {
  const auto i = static_cast<std::size_t>(c);
  channels.mean[i] = static_cast<T>(moments.mean);
  channels.scale[i] =
      static_cast<T>(moments.inverse_deviation(epsilon) * static_cast<double>(weight.as<T>()[c]));
  channels.shift[i] = bias.as<T>()[c];
}

// Normalizes the input. Shared by the forward ops of training and of evaluation.
template <class T, class AnyForward>
void normalize(const AnyForward& op, const Channels<T>& channels, int cores) {
  ChannelArguments<T> arguments = channels.arguments();
  arguments.values = op.input.template as<T>();
  arguments.result = op.output.template as<T>();
  for_blocks(cores, op.input.elements() / channels.columns, block_rows(op.input),
             [&](std::int64_t begin, std::int64_t end, std::int64_t) {
               kernels<T>().normalize(arguments, begin, end);
               activate(op.activation, arguments.result + begin * channels.columns,
                        (end - begin) * channels.columns);
             });
}

template <class T>
PreparedKernel prepare_sums(const compute::BatchNormSums& op, const Device& device) {
  return make_kernel([op, sums = ChannelSums(op.input, device.cores),
                      channels = Channels<T>(columns_of(op.input))](Queue&) mutable {
    ChannelArguments<T> arguments = channels.arguments();
    arguments.values = op.input.template as<T>();
    double* const total = op.sums.template as<double>();
    sums([&](std::int64_t begin, std::int64_t end,
             double* partial) { kernels<T>().channel_moments(arguments, begin, end, partial); },
         total);
    total[2 * channels.columns] = static_cast<double>(sums.rows());
  });
}

template <class T>
PreparedKernel prepare_forward(const compute::BatchNormForward& op, const Device& device) {
  return make_kernel(
      [op, cores = device.cores, channels = Channels<T>(columns_of(op.input))](Queue&) mutable {
        if (samples_of(op.sums) == 0) return;
        for (std::int64_t c = 0; c < channels.columns; ++c)
          set_channel(channels, c, moments_of(op.sums, c), op.epsilon, op.weight, op.bias);
        if (!op.running.empty()) update_running_stats<T>(op);
        normalize(op, channels, cores);
      });
}

template <class T>
PreparedKernel prepare_evaluate(const compute::BatchNormEvaluate& op, const Device& device) {
  return make_kernel(
      [op, cores = device.cores, channels = Channels<T>(columns_of(op.input))](Queue&) mutable {
        const T* const running = op.running.template as<T>();
        for (std::int64_t c = 0; c < channels.columns; ++c) {
          const Moments moments{static_cast<double>(running[c]),
                                static_cast<double>(running[channels.columns + c])};
          set_channel(channels, c, moments, op.epsilon, op.weight, op.bias);
        }
        normalize(op, channels, cores);
      });
}

template <class T>
PreparedKernel prepare_backward_weight(const compute::BatchNormBackwardWeight& op,
                                       const Device& device) {
  auto run = [op, sums = ChannelSums(op.input, device.cores),
              channels = Channels<T>(columns_of(op.input)),
              norm = GradientNorm<T>(op.weight_gradient, op.bias_gradient, op.squared_norm,
                                     device.cores)](Queue&) mutable {
    for (std::int64_t c = 0; c < channels.columns; ++c) {
      const Moments moments = moments_of(op.sums, c);
      channels.mean[static_cast<std::size_t>(c)] = static_cast<T>(moments.mean);
      channels.scale[static_cast<std::size_t>(c)] =
          static_cast<T>(moments.inverse_deviation(op.epsilon));
    }
    ChannelArguments<T> arguments = channels.arguments();
    arguments.values = op.input.template as<T>();
    arguments.gradient = op.output_gradient.template as<T>();
    double* const total = op.gradient_sums.template as<double>();
    sums([&](std::int64_t begin, std::int64_t end,
             double* partial) { kernels<T>().channel_products(arguments, begin, end, partial); },
         total);
    for (std::int64_t c = 0; c < channels.columns; ++c) {
      op.weight_gradient.template as<T>()[c] = static_cast<T>(total[c]);
      op.bias_gradient.template as<T>()[c] = static_cast<T>(total[channels.columns + c]);
    }
    norm();
  };
  return make_kernel(std::move(run));
}

template <class T>
PreparedKernel prepare_backward_input(const compute::BatchNormBackwardInput& op,
                                      const Device& device) {
  return make_kernel([op, cores = device.cores,
                      channels = Channels<T>(columns_of(op.input))](Queue&) mutable {
    const double samples = samples_of(op.sums), *gradients = op.gradient_sums.template as<double>();
    for (std::int64_t c = 0; c < channels.columns; ++c) {
      const auto i = static_cast<std::size_t>(c);
      const Moments moments = moments_of(op.sums, c);
      const double inverse = moments.inverse_deviation(op.epsilon);
      channels.mean[i] = static_cast<T>(moments.mean);
      channels.scale[i] =
          static_cast<T>(inverse * static_cast<double>(op.weight.template as<T>()[c]));
      channels.shift[i] = static_cast<T>(gradients[channels.columns + c] / samples);
      channels.slope[i] = static_cast<T>(inverse * gradients[c] / samples);
    }
    ChannelArguments<T> arguments = channels.arguments();
    arguments.values = op.input.template as<T>();
    arguments.gradient = op.output_gradient.template as<T>();
    arguments.result = op.input_gradient.template as<T>();
    for_blocks(cores, op.input.elements() / channels.columns, block_rows(op.input),
               [&](std::int64_t begin, std::int64_t end, std::int64_t) {
                 kernels<T>().normalize_backward(arguments, begin, end);
               });
  });
}

}  // namespace

PreparedKernel prepare(const compute::BatchNormSums& op, const Device& device) {
  return op.input.dtype == DType::fp64 ? prepare_sums<double>(op, device)
                                       : prepare_sums<float>(op, device);
}

PreparedKernel prepare(const compute::BatchNormForward& op, const Device& device) {
  return op.input.dtype == DType::fp64 ? prepare_forward<double>(op, device)
                                       : prepare_forward<float>(op, device);
}

PreparedKernel prepare(const compute::BatchNormEvaluate& op, const Device& device) {
  return op.input.dtype == DType::fp64 ? prepare_evaluate<double>(op, device)
                                       : prepare_evaluate<float>(op, device);
}

PreparedKernel prepare(const compute::BatchNormBackwardWeight& op, const Device& device) {
  return op.input.dtype == DType::fp64 ? prepare_backward_weight<double>(op, device)
                                       : prepare_backward_weight<float>(op, device);
}

PreparedKernel prepare(const compute::BatchNormBackwardInput& op, const Device& device) {
  return op.input.dtype == DType::fp64 ? prepare_backward_input<double>(op, device)
                                       : prepare_backward_input<float>(op, device);
}

}  // namespace trainyard::cpu
