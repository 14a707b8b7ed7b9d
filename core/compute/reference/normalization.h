// SPDX-License-Identifier: GPL-3.0-or-later
// Ops between layers in plain loops: batch normalization, dropout, sums and copies.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/compute/reference/linear.h"

namespace trainyard::compute::reference {

inline std::int64_t channels_of(const Tensor& tensor) {
  return tensor.shape[tensor.shape.dimensions - 1];
}

// Mean and 1 / sqrt(variance + epsilon) of a channel.
struct Normal {
  double mean = 0, inverse_deviation = 0, variance = 0, samples = 0;

  template <class T>
  double normalized(const Tensor& input, std::int64_t element) const {
    return (static_cast<double>(input.as<T>()[element]) - mean) * inverse_deviation;
  }
};

inline Normal normal_of(const Tensor& sums, std::int64_t channel, double epsilon) {
  const std::int64_t channels = (sums.elements() - 1) / 2;
  const double* sum = sums.as<double>();
  Normal normal;
  normal.samples = sum[2 * channels];
  normal.mean = sum[channel] / normal.samples;
  normal.variance =
      std::max(0.0, sum[channels + channel] / normal.samples - normal.mean * normal.mean);
  normal.inverse_deviation = 1 / std::sqrt(normal.variance + epsilon);
  return normal;
}

template <class T>
void run(const BatchNormSums& op) {
  const std::int64_t channels = channels_of(op.input);
  double* sums = op.sums.as<double>();
  std::fill_n(sums, 2 * channels, 0.0);
  for (std::int64_t i = 0; i < op.input.elements(); ++i) {
    const double x = op.input.as<T>()[i];
    sums[i % channels] += x;
    sums[channels + i % channels] += x * x;
  }
  const std::int64_t samples = op.input.elements() / channels;
  sums[2 * channels] = static_cast<double>(samples);
}

template <class T>
void store_normalized(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const Tensor& output, Activation activation, std::int64_t channel,
                      const Normal& normal) {
  const std::int64_t channels = channels_of(input);
  for (std::int64_t i = channel; i < input.elements(); i += channels) {
    const double scaled =
        static_cast<double>(weight.as<T>()[channel]) * normal.template normalized<T>(input, i) +
        static_cast<double>(bias.as<T>()[channel]);
    output.as<T>()[i] = static_cast<T>(activate(activation, scaled));
  }
}

template <class T>
void update_running(T& running, double momentum, double now) {
  if (!std::isfinite(now)) return;
  running = static_cast<T>(static_cast<double>(running) +
                           momentum * (now - static_cast<double>(running)));
}

template <class T>
void run(const BatchNormForward& op) {
  const std::int64_t channels = channels_of(op.input);
  for (std::int64_t c = 0; c < channels; ++c) {
    const Normal normal = normal_of(op.sums, c, op.epsilon);
    if (normal.samples == 0) return;
    store_normalized<T>(op.input, op.weight, op.bias, op.output, op.activation, c, normal);
    if (op.running.empty()) continue;
    update_running(op.running.as<T>()[c], op.momentum, normal.mean);
    update_running(
        op.running.as<T>()[channels + c], op.momentum,
        normal.variance * (normal.samples > 1 ? normal.samples / (normal.samples - 1) : 1));
  }
}

template <class T>
void run(const BatchNormEvaluate& op) {
  const std::int64_t channels = channels_of(op.input);
  for (std::int64_t c = 0; c < channels; ++c) {
    const double mean = op.running.as<T>()[c], variance = op.running.as<T>()[channels + c];
    store_normalized<T>(op.input, op.weight, op.bias, op.output, op.activation, c,
                        {mean, 1 / std::sqrt(variance + op.epsilon), variance, 0});
  }
}

template <class T>
void run(const BatchNormBackwardWeight& op) {
  const std::int64_t channels = channels_of(op.input);
  for (std::int64_t c = 0; c < channels; ++c) {
    const Normal normal = normal_of(op.sums, c, op.epsilon);
    double weight = 0, bias = 0;
    for (std::int64_t i = c; i < op.input.elements(); i += channels) {
      const double gradient = op.output_gradient.as<T>()[i];
      weight += gradient * normal.template normalized<T>(op.input, i);
      bias += gradient;
    }
    op.gradient_sums.as<double>()[c] = weight;
    op.gradient_sums.as<double>()[channels + c] = bias;
    op.weight_gradient.as<T>()[c] = static_cast<T>(weight);
    op.bias_gradient.as<T>()[c] = static_cast<T>(bias);
  }
  if (!op.squared_norm.empty())
    *op.squared_norm.as<double>() =
        squared_norm<T>(op.weight_gradient) + squared_norm<T>(op.bias_gradient);
}

template <class T>
void run(const BatchNormBackwardInput& op) {
  const std::int64_t channels = channels_of(op.input);
  for (std::int64_t c = 0; c < channels; ++c) {
    const Normal normal = normal_of(op.sums, c, op.epsilon);
    const double weight = op.gradient_sums.as<double>()[c] / normal.samples,
                 bias = op.gradient_sums.as<double>()[channels + c] / normal.samples;
    for (std::int64_t i = c; i < op.input.elements(); i += channels) {
      const double own = static_cast<double>(op.output_gradient.as<T>()[i]) - bias -
                         normal.template normalized<T>(op.input, i) * weight;
      op.input_gradient.as<T>()[i] = static_cast<T>(static_cast<double>(op.weight.as<T>()[c]) *
                                                    normal.inverse_deviation * own);
    }
  }
}

template <class T>
void run(const Dropout& op) {
  const std::int64_t samples = op.input.shape[0],
                     width = samples > 0 ? op.input.elements() / samples : 0;
  const auto step = static_cast<std::uint64_t>(*op.step.as<double>());
  const std::uint64_t key = base::Random(op.seed, base::Purpose::dropout, op.layer).bits(step);
  const double threshold = op.probability * 0x1p32;
  for (std::int64_t b = 0; b < samples; ++b) {
    const base::Random random(key, base::Purpose::dropout,
                              static_cast<std::uint32_t>(op.samples.as<std::int32_t>()[b]));
    for (std::int64_t e = 0; e < width; ++e) {
      const bool dropped =
          random.block(static_cast<std::uint64_t>(e / 4))[static_cast<std::size_t>(e % 4)] <
          threshold;
      const double kept =
          static_cast<double>(op.input.as<T>()[b * width + e]) / (1 - op.probability);
      op.output.as<T>()[b * width + e] = dropped ? T{0} : static_cast<T>(kept);
    }
  }
}

template <class T>
void run(const Add& op) {
  for (std::int64_t i = 0; i < op.output.elements(); ++i)
    op.output.as<T>()[i] =
        static_cast<T>(activate(op.activation, static_cast<double>(op.left.as<T>()[i]) +
                                                   static_cast<double>(op.right.as<T>()[i])));
}

template <class T>
void run(const Accumulate& op) {
  for (std::int64_t i = 0; i < op.output.elements(); ++i)
    op.output.as<T>()[i] += op.input.as<T>()[i];
}

template <class T>
void run(const Copy& op) {
  std::copy_n(op.input.as<T>(), op.input.elements(), op.output.as<T>());
}

template <class T>
void run(const Scale& op) {
  for (std::int64_t i = 0; i < op.output.elements(); ++i)
    op.output.as<T>()[i] = static_cast<T>(op.factor * static_cast<double>(op.input.as<T>()[i]));
}

template <class T>
void run(const WeightedSum& op) {
  for (std::int64_t i = 0; i < op.output.elements(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < op.inputs.size(); ++k)
      sum += op.weights[k] * static_cast<double>(op.inputs[k].as<T>()[i]);
    op.output.as<T>()[i] = static_cast<T>(sum);
  }
}

}  // namespace trainyard::compute::reference
