// SPDX-License-Identifier: GPL-3.0-or-later
// Elementwise loops, compiled once for each x86-64 level and selected at run time. All ranks on one
// machine run the same code. The result for an element depends neither on its index nor on its
// alignment. Therefore the results of all ranks are bit-identical.
//
// Files compiled for newer CPUs include this header, so it must not contain inline code. The linker
// could otherwise use a copy compiled for a newer CPU in all files.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard::cpu {

template <class T>
struct SgdArguments {
  const T *parameters, *gradient;
  const T* origin;  // values from which the step is subtracted; may be `parameters`
  T* updated;       // new parameters; may be `parameters`
  T* moment;        // moment of the optimizer; null without momentum
  double rate, factor, momentum, weight_decay;
};

template <class T>
struct AdamArguments {
  const T *parameters, *gradient;
  const T* origin;  // values from which the step is subtracted; may be `parameters`
  T* updated;       // new parameters; may be `parameters`
  T *first_moment, *second_moment;
  double rate, factor, beta1, beta2, epsilon, weight_decay;
  double correction1, correction2;  // 1 - beta^step
  bool decoupled;
};

// Arguments of pooling. Images are [samples, height, width, channels], results [samples,
// out_height, out_width, channels].
template <class T>
struct PoolArguments {
  const T *input, *output;  // only backward reads `output`
  T* result;                // output of forward; input gradient of backward
  const T* output_gradient;
  std::int64_t height, width, channels, out_height, out_width, kernel, stride, padding;
};

// Arguments of loops over a matrix with rows of `columns` channels: the matrix, and values per
// channel.
template <class T>
struct ChannelArguments {
  const T *values, *gradient;
  T* result;
  std::int64_t columns;
  const T *mean, *scale, *shift, *slope;
};

// Matrix with rows of `columns` elements, each normalized by its own statistics (see
// compute::RowNormForward). A null bias means 0.
template <class T>
struct RowArguments {
  const T *values, *gradient, *weight, *bias;
  T* result;
  std::int64_t columns;
  double epsilon;
  bool centered;
};

// Table of loops for one dtype. Ranges are [begin, end). Loops that compute sums accumulate them in
// fp64 and add them to the values already in the destination.
template <class T>
struct Kernels {
  void (*sgd)(const SgdArguments<T>&, std::int64_t begin, std::int64_t end, double* statistics);
  void (*adam)(const AdamArguments<T>&, std::int64_t begin, std::int64_t end, double* statistics);
  void (*squared_norm)(const T* values, std::int64_t begin, std::int64_t end, double* sum);
  void (*relu_backward)(const T* output, T* gradient, std::int64_t begin, std::int64_t end);
  void (*tanh_backward)(const T* output, T* gradient, std::int64_t begin, std::int64_t end);
  // Computes sums[c] = sum over rows of matrix[r, c] for c in [begin, end). `columns` is the row
  // stride.
  void (*column_sums)(const T* matrix, std::int64_t rows, std::int64_t columns, std::int64_t begin,
                      std::int64_t end, T* sums);
  void (*sum)(T* destination, const std::byte* const* sources, std::size_t count,
              std::int64_t elements);
  void (*relu)(T* values, std::int64_t begin, std::int64_t end);

  // Pooling, forward and backward, of the samples [begin, end).
  void (*max_pool)(const PoolArguments<T>&, std::int64_t begin, std::int64_t end);
  void (*average_pool)(const PoolArguments<T>&, std::int64_t begin, std::int64_t end);
  void (*max_pool_backward)(const PoolArguments<T>&, std::int64_t begin, std::int64_t end);
  void (*average_pool_backward)(const PoolArguments<T>&, std::int64_t begin, std::int64_t end);

  // Batch normalization of rows [begin, end). channel_moments: sums [2, columns] += {values,
  // values^2}. channel_products: sums [2, columns] += {gradient (values - mean) scale, gradient}.
  void (*channel_moments)(const ChannelArguments<T>&, std::int64_t begin, std::int64_t end,
                          double* sums);
  void (*channel_products)(const ChannelArguments<T>&, std::int64_t begin, std::int64_t end,
                           double* sums);
  // Normalization with per-channel values: result = (values - mean) scale + shift
  void (*normalize)(const ChannelArguments<T>&, std::int64_t begin, std::int64_t end);
  // Input gradient of `normalize`: result = scale (gradient - shift - (values - mean) slope)
  void (*normalize_backward)(const ChannelArguments<T>&, std::int64_t begin, std::int64_t end);

  // Row normalization of rows [begin, end). `row_norm` computes the output, `row_norm_backward` the
  // input gradient. `row_norm_products`: sums [2, columns] += {gradient xhat, gradient}.
  void (*row_norm)(const RowArguments<T>&, std::int64_t begin, std::int64_t end);
  void (*row_norm_backward)(const RowArguments<T>&, std::int64_t begin, std::int64_t end);
  void (*row_norm_products)(const RowArguments<T>&, std::int64_t begin, std::int64_t end,
                            double* sums);

  // Multiplies scores [rows, columns] by `scale` and replaces the first `first + r` columns of row
  // r by their softmax. Other columns become 0.
  void (*causal_softmax)(T* scores, std::int64_t rows, std::int64_t columns, std::int64_t first,
                         T scale);
  // Converts gradients [rows, columns] of the softmax output to gradients of the scores, in place.
  // `parts` is the softmax output: gradient = scale part (gradient - mean), where means[r] is the
  // sum over row r of part times gradient.
  void (*softmax_backward)(const T* parts, const T* means, T* gradients, std::int64_t rows,
                           std::int64_t columns, T scale);

  // Dropout of one sample: result = values scale. An element becomes 0 if its random word from
  // Philox4x32-10 (key, {element / 4, sample, purpose}) is below `threshold`.
  void (*dropout)(const T* values, T* result, std::int64_t elements, std::uint64_t key,
                  std::uint32_t sample, std::uint32_t purpose, std::uint64_t threshold, T scale);
};

// Conversions of elements [begin, end) between fp32 and the bits of bfloat16 or IEEE 754 binary16.
// Rounding is to nearest, ties to even.
struct HalfKernels {
  void (*widen_bf16)(const std::uint16_t* halves, float* values, std::int64_t begin,
                     std::int64_t end);
  void (*widen_fp16)(const std::uint16_t* halves, float* values, std::int64_t begin,
                     std::int64_t end);
  void (*round_bf16)(const float* values, std::uint16_t* halves, std::int64_t begin,
                     std::int64_t end);
  void (*round_fp16)(const float* values, std::uint16_t* halves, std::int64_t begin,
                     std::int64_t end);
  // Computes column sums of a bfloat16 matrix in fp32, as column_sums does for other matrices.
  void (*column_sums_bf16)(const std::uint16_t* matrix, std::int64_t rows, std::int64_t columns,
                           std::int64_t begin, std::int64_t end, float* sums);
};

const HalfKernels& half_kernels_v1();
const HalfKernels& half_kernels_v3();
const HalfKernels& half_kernels_v4();

// Returns the conversions for the newest x86-64 level that this CPU supports.
const HalfKernels& half_kernels();

template <class T>
const Kernels<T>& kernels_v1();  // any x86-64
template <class T>
const Kernels<T>& kernels_v3();  // AVX2, FMA
template <class T>
const Kernels<T>& kernels_v4();  // AVX-512

// Returns the table of loops for the newest x86-64 level that this CPU supports.
template <class T>
const Kernels<T>& kernels();
template <>
const Kernels<float>& kernels();
template <>
const Kernels<double>& kernels();

}  // namespace trainyard::cpu
