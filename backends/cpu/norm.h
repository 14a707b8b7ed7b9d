// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over a tensor that several ops need: squared norms and column sums.
#pragma once

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"
#include "core/compute/tensor.h"

namespace trainyard::cpu {

// Computes the sum of squares of a tensor. Call it right after the tensor is written, while the
// tensor is in cache.
template <class T>
class TensorNorm {
 public:
  // Prepares the norm of a tensor. The norm of an empty tensor is 0.
  TensorNorm(const compute::Tensor& tensor, int cores)
      : tensor_(tensor), sums_(cores, tensor.empty() ? 0 : tensor.elements()) {}
  double operator()() {
    double norm = 0;
    sums_([&](std::int64_t begin, std::int64_t end,
              double* sum) { kernels<T>().squared_norm(tensor_.as<T>(), begin, end, sum); },
          &norm);
    return norm;
  }

 private:
  compute::Tensor tensor_;
  BlockSums<1> sums_;
};

// Computes the squared norm of the gradients of a weight and a bias. Does nothing if `squared_norm`
// is empty.
template <class T>
class GradientNorm {
 public:
  GradientNorm(const compute::Tensor& weight, const compute::Tensor& bias,
               const compute::Tensor& squared_norm, int cores)
      : weight_(weight, cores), bias_(bias, cores), squared_norm_(squared_norm) {}
  void operator()() {
    if (!squared_norm_.empty()) *squared_norm_.as<double>() = weight_() + bias_();
  }

 private:
  TensorNorm<T> weight_, bias_;
  compute::Tensor squared_norm_;
};

// Writes the sum of each column of a matrix [rows, columns] to sums[column].
template <class T, class Stored>
void sum_columns(void (*loop)(const Stored*, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                              T*),
                 const Stored* matrix, std::int64_t rows, std::int64_t columns, T* sums,
                 int cores) {
  constexpr std::int64_t block_columns = 256;
  for_blocks(cores, columns, block_columns,
             [&](std::int64_t begin, std::int64_t end, std::int64_t) {
               loop(matrix, rows, columns, begin, end, sums);
             });
}

template <class T>
void sum_columns(const T* matrix, std::int64_t rows, std::int64_t columns, T* sums, int cores) {
  sum_columns(kernels<T>().column_sums, matrix, rows, columns, sums, cores);
}

}  // namespace trainyard::cpu
