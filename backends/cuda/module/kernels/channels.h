// SPDX-License-Identifier: GPL-3.0-or-later
// Batch normalization and column sums. The normalization parameters are computed once per channel,
// before the elements.
#pragma once

#include "backends/cuda/module/kernels/sums.h"

namespace trainyard::cuda {

inline std::int64_t rows_of(const Tensor& tensor) {
  return tensor.elements() / channels_of(tensor);
}
inline std::int64_t bytes_of_channels(const Tensor& input, int numbers) {
  return channels_of(input) * numbers * static_cast<std::int64_t>(sizeof(double));
}

// Mean, variance and 1 / sqrt(variance + epsilon) of a channel, and its number of samples.
struct Normal {
  double mean, variance, inverse_deviation, samples;
};

ON_DEVICE inline Normal normal_of(const Tensor& sums, std::int64_t channel, double epsilon) {
  const std::int64_t channels = (sums.elements() - 1) / 2;
  const double* const sum = as<double>(sums);
  const double samples = sum[2 * channels], mean = sum[channel] / samples,
               square = sum[channels + channel] / samples - mean * mean;
  const double variance = square < 0 ? 0 : square;  // keeps NaN
  return {mean, variance, 1 / std::sqrt(variance + epsilon), samples};
}

template <class W>
ON_DEVICE W normalized(const Tensor& input, std::int64_t i, const Normal& of) {
  return (get<W>(input, i) - static_cast<W>(of.mean)) * static_cast<W>(of.inverse_deviation);
}

inline std::int64_t scratch_bytes(const compute::SumRows& op) {
  return bytes_of_column_sums(op.input.shape[0], op.input.shape[1], 1);
}

template <class W, DType kInput>
void sum_rows(Stream& stream, const compute::SumRows& op, std::byte* scratch) {
  const std::int64_t columns = op.input.shape[1];
  sum_columns<1>(
      stream, op.input.shape[0], columns, reinterpret_cast<double*>(scratch),
      [=, input = op.input.data] ON_DEVICE(std::int64_t row, std::int64_t c) {
        return Sums<1>{{static_cast<double>(get<W>(Tensor{kInput, {}, input}, row * columns + c))}};
      },
      [=, output = op.output] ON_DEVICE(std::int64_t c, const Sums<1>& all) {
        put(output, c, static_cast<W>(all.value[0]));
      });
}

// Sums the columns of a matrix. All bias gradients are computed in this way.
template <class W>
void run(Stream& stream, const compute::SumRows& op, std::byte* scratch) {
  if constexpr (std::is_same_v<W, double>) sum_rows<W, DType::fp64>(stream, op, scratch);
  else if (op.input.dtype == DType::bf16) sum_rows<W, DType::bf16>(stream, op, scratch);
  else if (op.input.dtype == DType::fp16) sum_rows<W, DType::fp16>(stream, op, scratch);
  else sum_rows<W, DType::fp32>(stream, op, scratch);
}

inline std::int64_t scratch_bytes(const compute::BatchNormSums& op) {
  return bytes_of_column_sums(rows_of(op.input), channels_of(op.input), 2);
}

template <class W>
void run(Stream& stream, const compute::BatchNormSums& op, std::byte* scratch) {
  const std::int64_t channels = channels_of(op.input), rows = rows_of(op.input);
  sum_columns<2>(
      stream, rows, channels, reinterpret_cast<double*>(scratch),
      [=] ON_DEVICE(std::int64_t row, std::int64_t c) {
        const double x = get<W>(op.input, row * channels + c);
        return Sums<2>{{x, x * x}};
      },
      [=] ON_DEVICE(std::int64_t c, const Sums<2>& all) {
        as<double>(op.sums)[c] = all.value[0];
        as<double>(op.sums)[channels + c] = all.value[1];
        if (c == 0) as<double>(op.sums)[2 * channels] = static_cast<double>(rows);
      });
}

template <class W>
void normalize(Stream& stream, const Tensor& input, const Tensor& weight, const Tensor& bias,
               const Tensor& output, Activation activation, const Normal* normals) {
  const std::int64_t channels = channels_of(input);
  for_each(stream, input.elements(), [=] ON_DEVICE(std::int64_t i) {
    const std::int64_t c = i % channels;
    put(output, i,
        activate(activation,
                 get<W>(weight, c) * normalized<W>(input, i, normals[c]) + get<W>(bias, c)));
  });
}

template <class W>
ON_DEVICE void update_running(const Tensor& running, std::int64_t i, double momentum, double now) {
  const double before = get<W>(running, i);
  if (std::isfinite(now)) put(running, i, static_cast<W>(before + momentum * (now - before)));
}

inline std::int64_t scratch_bytes(const compute::BatchNormForward& op) {
  return bytes_of_channels(op.input, 4);
}

template <class W>
void run(Stream& stream, const compute::BatchNormForward& op, std::byte* scratch) {
  const std::int64_t channels = channels_of(op.input);
  auto* const normals = reinterpret_cast<Normal*>(scratch);
  for_each(stream, channels, [=] ON_DEVICE(std::int64_t c) {
    const Normal of = normals[c] = normal_of(op.sums, c, op.epsilon);
    if (of.samples == 0 || op.running.empty()) return;
    update_running<W>(op.running, c, op.momentum, of.mean);
    update_running<W>(op.running, channels + c, op.momentum,
                      of.variance * (of.samples > 1 ? of.samples / (of.samples - 1) : 1));
  });
  normalize<W>(stream, op.input, op.weight, op.bias, op.output, op.activation, normals);
}

inline std::int64_t scratch_bytes(const compute::BatchNormEvaluate& op) {
  return bytes_of_channels(op.input, 4);
}

template <class W>
void run(Stream& stream, const compute::BatchNormEvaluate& op, std::byte* scratch) {
  const std::int64_t channels = channels_of(op.input);
  auto* const normals = reinterpret_cast<Normal*>(scratch);
  for_each(stream, channels, [=] ON_DEVICE(std::int64_t c) {
    const double mean = get<W>(op.running, c), variance = get<W>(op.running, channels + c);
    normals[c] = {mean, variance, 1 / std::sqrt(variance + op.epsilon), 0};
  });
  normalize<W>(stream, op.input, op.weight, op.bias, op.output, op.activation, normals);
}

inline std::int64_t scratch_bytes(const compute::BatchNormBackwardWeight& op) {
  return bytes_of_channels(op.input, 4) + bytes_of_sums(1) +
         bytes_of_column_sums(rows_of(op.input), channels_of(op.input), 2);
}

template <class W>
void run(Stream& stream, const compute::BatchNormBackwardWeight& op, std::byte* scratch) {
  const std::int64_t channels = channels_of(op.input);
  auto* const normals = reinterpret_cast<Normal*>(scratch);
  // Scratch memory of the norm, followed by that of the column sums.
  auto* const memory = reinterpret_cast<double*>(normals + channels);
  for_each(stream, channels,
           [=] ON_DEVICE(std::int64_t c) { normals[c] = normal_of(op.sums, c, op.epsilon); });
  sum_columns<2>(
      stream, rows_of(op.input), channels, memory + bytes_of_sums(1) / 8,
      [=] ON_DEVICE(std::int64_t row, std::int64_t c) {
        const std::int64_t i = row * channels + c;
        const double gradient = get<W>(op.output_gradient, i);
        return Sums<2>{
            {gradient * static_cast<double>(normalized<W>(op.input, i, normals[c])), gradient}};
      },
      [=] ON_DEVICE(std::int64_t c, const Sums<2>& all) {
        as<double>(op.gradient_sums)[c] = all.value[0];
        as<double>(op.gradient_sums)[channels + c] = all.value[1];
        put(op.weight_gradient, c, static_cast<W>(all.value[0]));
        put(op.bias_gradient, c, static_cast<W>(all.value[1]));
      });
  square<W>(stream, op.weight_gradient, op.bias_gradient, op.squared_norm, memory);
}

inline std::int64_t scratch_bytes(const compute::BatchNormBackwardInput& op) {
  return bytes_of_channels(op.input, 4);
}

template <class W>
void run(Stream& stream, const compute::BatchNormBackwardInput& op, std::byte* scratch) {
  const std::int64_t channels = channels_of(op.input);
  auto* const normals = reinterpret_cast<Normal*>(scratch);
  for_each(stream, channels,
           [=] ON_DEVICE(std::int64_t c) { normals[c] = normal_of(op.sums, c, op.epsilon); });
  for_each(stream, op.input.elements(), [=] ON_DEVICE(std::int64_t i) {
    const std::int64_t c = i % channels;
    const Normal& of = normals[c];
    const auto weight = static_cast<W>(as<double>(op.gradient_sums)[c] / of.samples),
               bias = static_cast<W>(as<double>(op.gradient_sums)[channels + c] / of.samples);
    const W own = get<W>(op.output_gradient, i) - bias - normalized<W>(op.input, i, of) * weight;
    put(op.input_gradient, i, get<W>(op.weight, c) * static_cast<W>(of.inverse_deviation) * own);
  });
}

}  // namespace trainyard::cuda
