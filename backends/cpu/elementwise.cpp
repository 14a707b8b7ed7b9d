// SPDX-License-Identifier: GPL-3.0-or-later
// Ops between layers: pooling, dropout, sums and copies.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "backends/cpu/activation.h"
#include "backends/cpu/half_conversion.h"
#include "backends/cpu/prepare.h"
#include "backends/cpu/threads.h"
#include "core/base/random.h"
#include "core/compute/half_precision.h"

namespace trainyard::cpu {
namespace {

using compute::Pooling;
using compute::Queue;
using compute::Tensor;

template <class T>
PoolArguments<T> pool_arguments(const Tensor& image, const Tensor& pooled,
                                const compute::Window& window) {
  return {.input = nullptr,
          .output = nullptr,
          .result = nullptr,
          .output_gradient = nullptr,
          .height = image.shape[1],
          .width = image.shape[2],
          .channels = image.shape[3],
          .out_height = pooled.shape[1],
          .out_width = pooled.shape[2],
          .kernel = window.kernel,
          .stride = window.stride,
          .padding = window.padding};
}

template <class T>
PreparedKernel prepare_pool(const compute::PoolForward& op, const Device& device) {
  auto arguments = pool_arguments<T>(op.input, op.output, op.window);
  arguments.input = op.input.as<T>();
  arguments.result = op.output.as<T>();
  const auto pool =
      op.pooling == Pooling::maximum ? kernels<T>().max_pool : kernels<T>().average_pool;
  return make_kernel([arguments, pool, cores = device.cores, samples = op.input.shape[0]](Queue&) {
    for_blocks(cores, samples, 1, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
      pool(arguments, begin, end);
    });
  });
}

template <class T>
PreparedKernel prepare_pool_backward(const compute::PoolBackward& op, const Device& device) {
  auto arguments = pool_arguments<T>(op.input_gradient, op.output_gradient, op.window);
  arguments.input = op.input.as<T>();
  arguments.output = op.output.as<T>();
  arguments.output_gradient = op.output_gradient.as<T>();
  arguments.result = op.input_gradient.as<T>();
  const auto pool = op.pooling == Pooling::maximum ? kernels<T>().max_pool_backward
                                                   : kernels<T>().average_pool_backward;
  return make_kernel(
      [arguments, pool, cores = device.cores, samples = op.input_gradient.shape[0]](Queue&) {
        for_blocks(cores, samples, 1, [&](std::int64_t begin, std::int64_t end, std::int64_t) {
          pool(arguments, begin, end);
        });
      });
}

template <class T>
PreparedKernel prepare_dropout(const compute::Dropout& op, const Device& device) {
  const std::int64_t samples = op.input.shape[0],
                     width = samples > 0 ? op.input.elements() / samples : 0;
  const auto threshold = static_cast<std::uint64_t>(std::ceil(op.probability * 0x1p32));
  return make_kernel([=, cores = device.cores,
                      scale = static_cast<T>(1 / (1 - op.probability))](Queue&) {
    const auto step = static_cast<std::uint64_t>(*op.step.as<double>());
    const std::uint64_t key = base::Random(op.seed, base::Purpose::dropout, op.layer).bits(step);
    for_blocks(cores, samples, 1, [&](std::int64_t sample, std::int64_t, std::int64_t) {
      const auto number = static_cast<std::uint32_t>(op.samples.as<std::int32_t>()[sample]);
      kernels<T>().dropout(op.input.as<T>() + sample * width, op.output.as<T>() + sample * width,
                           width, key, number, static_cast<std::uint32_t>(base::Purpose::dropout),
                           threshold, scale);
    });
  });
}

template <class T>
void sum_two(const T* left, const T* right, T* output, std::int64_t elements) {
  const std::byte* sources[] = {reinterpret_cast<const std::byte*>(left),
                                reinterpret_cast<const std::byte*>(right)};
  kernels<T>().sum(output, sources, 2, elements);
}

template <class T>
PreparedKernel prepare_sum(const compute::Add& op, const Device& device) {
  return make_kernel([op, cores = device.cores](Queue&) {
    for_blocks(cores, op.output.elements(), kBlockElements,
               [&](std::int64_t begin, std::int64_t end, std::int64_t) {
                 T* const output = op.output.as<T>() + begin;
                 sum_two(op.left.as<T>() + begin, op.right.as<T>() + begin, output, end - begin);
                 activate(op.activation, output, end - begin);
               });
  });
}

template <class T>
PreparedKernel prepare_scale(const compute::Scale& op, const Device& device) {
  return make_kernel([op, cores = device.cores](Queue&) {
    for_blocks(cores, op.output.elements(), kBlockElements,
               [&](std::int64_t begin, std::int64_t end, std::int64_t) {
                 const T* const input = op.input.as<T>();
                 T* const output = op.output.as<T>();
                 for (std::int64_t i = begin; i < end; ++i)
                   output[i] = static_cast<T>(op.factor * static_cast<double>(input[i]));
               });
  });
}

// Adds the weighted inputs in tiles of kTile elements, so that the partial sums stay in the L1
// cache.
template <class T>
void add_weighted(const compute::WeightedSum& op, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kTile = 512;
  std::array<double, kTile> sums;
  for (std::int64_t first = begin; first < end; first += kTile) {
    const std::int64_t count = std::min(kTile, end - first);
    std::fill_n(sums.begin(), count, 0.0);
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      const T* const input = op.inputs[k].as<T>() + first;
      const double weight = op.weights[k];
      for (std::int64_t i = 0; i < count; ++i)
        sums[static_cast<std::size_t>(i)] += weight * static_cast<double>(input[i]);
    }
    T* const output = op.output.as<T>() + first;
    for (std::int64_t i = 0; i < count; ++i)
      output[i] = static_cast<T>(sums[static_cast<std::size_t>(i)]);
  }
}

template <class T>
PreparedKernel prepare_weighted_sum(const compute::WeightedSum& op, const Device& device) {
  return make_kernel([op, cores = device.cores](Queue&) {
    for_blocks(cores, op.output.elements(), kBlockElements,
               [&](std::int64_t begin, std::int64_t end, std::int64_t) {
                 add_weighted<T>(op, begin, end);
               });
  });
}

}  // namespace

PreparedKernel prepare(const compute::PoolForward& op, const Device& device) {
  return op.input.dtype == compute::DType::fp64 ? prepare_pool<double>(op, device)
                                                : prepare_pool<float>(op, device);
}

PreparedKernel prepare(const compute::PoolBackward& op, const Device& device) {
  return op.input_gradient.dtype == compute::DType::fp64 ? prepare_pool_backward<double>(op, device)
                                                         : prepare_pool_backward<float>(op, device);
}

PreparedKernel prepare(const compute::Dropout& op, const Device& device) {
  return op.input.dtype == compute::DType::fp64 ? prepare_dropout<double>(op, device)
                                                : prepare_dropout<float>(op, device);
}

PreparedKernel prepare(const compute::Add& op, const Device& device) {
  return op.left.dtype == compute::DType::fp64 ? prepare_sum<double>(op, device)
                                               : prepare_sum<float>(op, device);
}

PreparedKernel prepare(const compute::Accumulate& op, const Device& device) {
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the returned kernel owns its memory
  return prepare(compute::Add{op.output, op.input, op.output, compute::Activation::none}, device);
}

PreparedKernel prepare(const compute::Copy& op, const Device& device) {
  const compute::DType from = op.input.dtype, to = op.output.dtype;
  if (from != to && compute::is_half(to))
    return make_kernel([=, cores = device.cores](Queue&) {
      round(to, op.input.as<float>(), op.output.data, op.output.elements(), cores);
    });
  if (from != to)
    return make_kernel([=, cores = device.cores](Queue&) {
      widen(from, op.input.data, op.output.as<float>(), op.output.elements(), cores);
    });
  return make_kernel([op](Queue&) {
    if (op.output.bytes() > 0)
      std::memcpy(op.output.data, op.input.data, static_cast<std::size_t>(op.output.bytes()));
  });
}

PreparedKernel prepare(const compute::Scale& op, const Device& device) {
  return op.input.dtype == compute::DType::fp64 ? prepare_scale<double>(op, device)
                                                : prepare_scale<float>(op, device);
}

PreparedKernel prepare(const compute::WeightedSum& op, const Device& device) {
  return op.output.dtype == compute::DType::fp64 ? prepare_weighted_sum<double>(op, device)
                                                 : prepare_weighted_sum<float>(op, device);
}

}  // namespace trainyard::cpu
