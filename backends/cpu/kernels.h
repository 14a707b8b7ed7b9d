// SPDX-License-Identifier: GPL-3.0-or-later
// The element-wise loops, compiled once for each level of x86-64 and chosen at run time. On one machine every rank runs
// the same code, and an element's result depends neither on its place nor on its alignment: ranks stay bit-identical.
//
// This header is included by files compiled for newer CPUs: it holds no inline code that the linker could share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard::cpu {

template <class T>
struct SgdArguments {
  T* parameters;
  const T* gradient;
  T* moment;  // null: without momentum
  double rate, factor, momentum, weight_decay;
};

template <class T>
struct AdamArguments {
  T* parameters;
  const T* gradient;
  T *first_moment, *second_moment;
  double rate, factor, beta1, beta2, epsilon, weight_decay;
  double correction1, correction2;  // 1 - beta^step
  bool decoupled;
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
  void (*column_sums)(const T* matrix, std::int64_t rows, std::int64_t columns, std::int64_t begin, std::int64_t end, T* sums);
  void (*sum)(T* destination, const std::byte* const* sources, std::size_t count, std::int64_t elements);
};

template <class T>
const Kernels<T>& kernels_v1();  // any x86-64
template <class T>
const Kernels<T>& kernels_v3();  // AVX2, FMA
template <class T>
const Kernels<T>& kernels_v4();  // AVX-512

// The best that this CPU runs.
template <class T>
const Kernels<T>& kernels();

}  // namespace trainyard::cpu
