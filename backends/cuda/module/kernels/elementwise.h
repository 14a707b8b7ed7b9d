// SPDX-License-Identifier: GPL-3.0-or-later
// Element-wise ops.
#pragma once

#include "backends/cuda/module/kernels/map.h"
#include "core/base/random.h"

namespace trainyard::cuda {

template <class W>
void run(Stream& stream, const compute::AddBias& op) {
  map<W>(stream, op.output, op.input, {},
         [bias = op.bias, activation = op.activation, outputs = op.output.shape[1]] ON_DEVICE(
             std::int64_t i, W input, W) {
           return activate(activation, input + (bias.empty() ? W{0} : get<W>(bias, i % outputs)));
         });
}

template <class W>
void run(Stream& stream, const compute::CopyColumns& op) {
  const std::int64_t inputs = op.input.shape[1], outputs = op.output.shape[1];
  for_each(stream, op.input.shape[0] * op.columns, [=] ON_DEVICE(std::int64_t i) {
    const std::int64_t row = i / op.columns, column = i % op.columns;
    put(op.output, row * outputs + op.output_first + column,
        get<W>(op.input, row * inputs + op.input_first + column));
  });
}

template <class W>
void run(Stream& stream, const compute::ActivationBackward& op) {
  map<W>(stream, op.gradient, op.gradient, op.output,
         [activation = op.activation] ON_DEVICE(std::int64_t, W gradient, W output) {
           return gradient * slope(activation, output);
         });
}

template <class W>
void run(Stream& stream, const compute::Add& op) {
  map<W>(stream, op.output, op.left, op.right,
         [activation = op.activation] ON_DEVICE(std::int64_t, W left, W right) {
           return activate(activation, left + right);
         });
}

template <class W>
void run(Stream& stream, const compute::Accumulate& op) {
  map<W>(stream, op.output, op.output, op.input,
         [] ON_DEVICE(std::int64_t, W output, W input) { return output + input; });
}

template <class W>
void run(Stream& stream, const compute::Copy& op) {
  map<W>(stream, op.output, op.input, {}, [] ON_DEVICE(std::int64_t, W input, W) { return input; });
}

template <class W>
void run(Stream& stream, const compute::Scale& op) {
  map<W>(stream, op.output, op.input, {}, [factor = op.factor] ON_DEVICE(std::int64_t, W input, W) {
    return static_cast<W>(factor * static_cast<double>(input));
  });
}

template <class W>
void run(Stream& stream, const compute::Zero& op) {
  clear(stream, op.output.data, op.output.bytes());
}

// Distribution function and density of the standard normal distribution, which GELU needs.
template <class W>
ON_DEVICE W normal_distribution(W x) {
  return W{0.5} * std::erfc(-x * W{0.70710678118654752440});
}
template <class W>
ON_DEVICE W normal_density(W x) {
  return W{0.39894228040143267794} * std::exp(-x * x / 2);
}

template <class W>
void run(Stream& stream, const compute::GeluForward& op) {
  map<W>(stream, op.output, op.input, {},
         [] ON_DEVICE(std::int64_t, W x, W) { return x * normal_distribution(x); });
}

template <class W>
void run(Stream& stream, const compute::GeluBackward& op) {
  map<W>(stream, op.input_gradient, op.input, op.output_gradient,
         [] ON_DEVICE(std::int64_t, W x, W gradient) {
           return gradient * (normal_distribution(x) + x * normal_density(x));
         });
}

inline std::int64_t scratch_bytes(const compute::Dropout&) { return sizeof(std::uint64_t); }

// Each thread draws one block of random words for the adjacent elements of a Vector4Of. The key is
// copied to device memory once, because the host writes the step to memory that the device reads
// slowly.
template <class W>
void run(Stream& stream, const compute::Dropout& op, std::byte* scratch) {
  auto* const key = reinterpret_cast<std::uint64_t*>(scratch);
  for_each(stream, 1, [=] ON_DEVICE(std::int64_t) {
    *key = base::Random(op.seed, base::Purpose::dropout, op.layer)
               .bits(static_cast<std::uint64_t>(*as<double>(op.step)));
  });
  const std::int64_t samples = op.input.shape[0],
                     width = samples > 0 ? op.input.elements() / samples : 0,
                     blocks = parts(width, 4);
  for_each(stream, samples * blocks, [=] ON_DEVICE(std::int64_t i) {
    const std::int64_t sample = i / blocks, first = i % blocks * 4;
    const base::Random random(*key, base::Purpose::dropout,
                              static_cast<std::uint32_t>(as<std::int32_t>(op.samples)[sample]));
    const auto words = random.block(static_cast<std::uint64_t>(first / 4));
    const double threshold = op.probability * 0x1p32;
    for (std::int64_t e = first; e < first + 4 && e < width; ++e) {
      const W kept = get<W>(op.input, sample * width + e) / static_cast<W>(1 - op.probability);
      put(op.output, sample * width + e,
          words[static_cast<std::size_t>(e - first)] < threshold ? W{0} : kept);
    }
  });
}

// Inputs of a weighted sum, passed to a kernel by value, because a device cannot access a
// std::vector.
struct WeightedInputs {
  static constexpr int kMost =
      60;  // Kernel arguments are limited to 4 KB with drivers older than 2023.
  Tensor inputs[kMost], output;
  double weights[kMost];
  int count = 0;
};

template <class W>
void run(Stream& stream, const WeightedInputs& op) {
  for_each(stream, op.output.elements(), [=] ON_DEVICE(std::int64_t i) {
    double sum = 0;
    for (int k = 0; k < op.count; ++k)
      sum += op.weights[k] * static_cast<double>(get<W>(op.inputs[k], i));
    put(op.output, i, static_cast<W>(sum));
  });
}

}  // namespace trainyard::cuda
