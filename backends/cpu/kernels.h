// SPDX-License-Identifier: GPL-3.0-or-later
// The element-wise loops, compiled once for each level of x86-64 and chosen at run time. On one
// machine every rank runs the same code, and an element's result depends neither on its place nor
// on its alignment: ranks stay bit-identical.
//
// This header is included by files compiled for newer CPUs: it holds no inline code that the linker
// could share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard::cpu {

template <class T>
struct SgdArguments {
  const T *parameters, *gradient;
  const T* origin;  // what the step is taken from; may be the parameters
  T* updated;       // may be the parameters
  T* moment;        // null: without momentum
  double rate, factor, momentum, weight_decay;
};

template <class T>
struct AdamArguments {
  const T *parameters, *gradient;
  const T* origin;  // what the step is taken from; may be the parameters
  T* updated;       // may be the parameters
  T *first_moment, *second_moment;
  double rate, factor, beta1, beta2, epsilon, weight_decay;
  double correction1, correction2;  // 1 - beta^step
  bool decoupled;
};

// Images [samples, height, width, channels] and what a window makes of them, [samples, out_height,
// out_width, channels].
template <class T>
struct PoolArguments {
  const T *input, *output;  // backward reads the output
  T* result;                // forward: the output; backward: the input's gradient
  const T* output_gradient;
  std::int64_t height, width, channels, out_height, out_width, kernel, stride, padding;
};

// A matrix of rows of `columns` channels, and numbers by channel.
template <class T>
struct ChannelArguments {
  const T *values, *gradient;
  T* result;
  std::int64_t columns;
  const T *mean, *scale, *shift, *slope;
};

// A matrix of rows of `columns`, each normalised by statistics of its own (see
// compute::RowNormForward); a null bias is 0.
template <class T>
struct RowArguments {
  const T *values, *gradient, *weight, *bias;
  T* result;
  std::int64_t columns;
  double epsilon;
  bool centred;
};

// Ranges are [begin, end); sums are carried in fp64 and added to what is there.
template <class T>
struct Kernels {
  void (*sgd)(const SgdArguments<T>&, std::int64_t begin, std::int64_t end, double* statistics);
  void (*adam)(const AdamArguments<T>&, std::int64_t begin, std::int64_t end, double* statistics);
  void (*squared_norm)(const T* values, std::int64_t begin, std::int64_t end, double* sum);
  void (*relu_backward)(const T* output, T* gradient, std::int64_t begin, std::int64_t end);
  void (*tanh_backward)(const T* output, T* gradient, std::int64_t begin, std::int64_t end);
  // sums[c] = the sum over rows of matrix[r, c], for c in [begin, end); rows are `columns` apart.
  void (*column_sums)(const T* matrix, std::int64_t rows, std::int64_t columns, std::int64_t begin,
                      std::int64_t end, T* sums);
  void (*sum)(T* destination, const std::byte* const* sources, std::size_t count,
              std::int64_t elements);
  void (*relu)(T* values, std::int64_t begin, std::int64_t end);

  // Of samples [begin, end).
  void (*max_pool)(const PoolArguments<T>&, std::int64_t begin, std::int64_t end);
  void (*average_pool)(const PoolArguments<T>&, std::int64_t begin, std::int64_t end);
  void (*max_pool_backward)(const PoolArguments<T>&, std::int64_t begin, std::int64_t end);
  void (*average_pool_backward)(const PoolArguments<T>&, std::int64_t begin, std::int64_t end);

  // Of rows [begin, end). sums [2, columns] += {values, values^2}, or += {gradient (values - mean)
  // scale, gradient}.
  void (*channel_moments)(const ChannelArguments<T>&, std::int64_t begin, std::int64_t end,
                          double* sums);
  void (*channel_products)(const ChannelArguments<T>&, std::int64_t begin, std::int64_t end,
                           double* sums);
  // result = (values - mean) scale + shift
  void (*normalise)(const ChannelArguments<T>&, std::int64_t begin, std::int64_t end);
  // result = scale (gradient - shift - (values - mean) slope)
  void (*normalise_backward)(const ChannelArguments<T>&, std::int64_t begin, std::int64_t end);

  // Of rows [begin, end): the output; the input's gradient; sums [2, columns] += {gradient xhat,
  // gradient}.
  void (*row_norm)(const RowArguments<T>&, std::int64_t begin, std::int64_t end);
  void (*row_norm_backward)(const RowArguments<T>&, std::int64_t begin, std::int64_t end);
  void (*row_norm_products)(const RowArguments<T>&, std::int64_t begin, std::int64_t end,
                            double* sums);

  // Scores [rows, columns] times `scale`; of row r the first `first + r` columns become their
  // softmax, the others 0.
  void (*causal_softmax)(T* scores, std::int64_t rows, std::int64_t columns, std::int64_t first,
                         T scale);
  // gradients [rows, columns] of what the softmax made: become those of the scores, scale part
  // (gradient - mean), by means [rows]: of a row the sum of part gradient.
  void (*softmax_backward)(const T* parts, const T* means, T* gradients, std::int64_t rows,
                           std::int64_t columns, T scale);

  // One sample: result = values scale, or 0 where the element's word of Philox4x32-10 (key,
  // {element / 4, sample, purpose}) is below `threshold`.
  void (*dropout)(const T* values, T* result, std::int64_t elements, std::uint64_t key,
                  std::uint32_t sample, std::uint32_t purpose, std::uint64_t threshold, T scale);
};

// Of elements [begin, end): bits of bfloat16 or of IEEE 754 binary16 to fp32, and back, to nearest,
// ties to even.
struct HalfKernels {
  void (*widen_bf16)(const std::uint16_t* halves, float* values, std::int64_t begin,
                     std::int64_t end);
  void (*widen_fp16)(const std::uint16_t* halves, float* values, std::int64_t begin,
                     std::int64_t end);
  void (*round_bf16)(const float* values, std::uint16_t* halves, std::int64_t begin,
                     std::int64_t end);
  void (*round_fp16)(const float* values, std::uint16_t* halves, std::int64_t begin,
                     std::int64_t end);
  // As column_sums.
  void (*column_sums_bf16)(const std::uint16_t* matrix, std::int64_t rows, std::int64_t columns,
                           std::int64_t begin, std::int64_t end, float* sums);
};

const HalfKernels& half_kernels_v1();
const HalfKernels& half_kernels_v3();
const HalfKernels& half_kernels_v4();

// The best that this CPU runs.
const HalfKernels& half_kernels();

template <class T>
const Kernels<T>& kernels_v1();  // any x86-64
template <class T>
const Kernels<T>& kernels_v3();  // AVX2, FMA
template <class T>
const Kernels<T>& kernels_v4();  // AVX-512

// The best that this CPU runs.
template <class T>
const Kernels<T>& kernels();
template <>
const Kernels<float>& kernels();
template <>
const Kernels<double>& kernels();

}  // namespace trainyard::cpu
