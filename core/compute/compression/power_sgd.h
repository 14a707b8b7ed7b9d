// SPDX-License-Identifier: GPL-3.0-or-later
// PowerSGD (Vogels, Karimireddy and Jaggi 2019, algorithms 1 and 2) of a matrix M, which is the
// gradient plus the residual, on each of n ranks:
//
//   P = M Q', Q' = the last step's Q with columns of length 1     P is summed over ranks
//   P^ = orthonormalized columns of P (Gram-Schmidt), Q = M^T P^  Q is summed over ranks
//   decoded: P^ Q^T, the sum over ranks; residual = M - P^ Q^T / n
//
// The mean over ranks of residual + decoded / n is therefore the mean of M. Initially Q is 0. A
// column of Q that is 0 is replaced by random numbers, which are the same on all ranks. Sums are
// computed in fp64. A non-finite element of M makes all of P^ Q^T non-finite.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/base/random.h"
#include "core/compute/compression/power_sgd_layout.h"

namespace trainyard::compute::compression {

// Seed and bucket, which determine the random numbers that replace a zero column.
struct Draw {
  std::uint64_t seed = 0;
  std::uint32_t bucket = 0;
};

inline double column_length(const float* matrix, std::int64_t rows, std::int64_t columns,
                            std::int64_t column) {
  double sum = 0;
  for (std::int64_t r = 0; r < rows; ++r)
    sum += static_cast<double>(matrix[r * columns + column]) *
           static_cast<double>(matrix[r * columns + column]);
  return std::sqrt(sum);
}

// Computes Q', the last step's Q with columns of length 1. Both are stored as [columns, rank].
inline void make_guess(const float* last, const PowerSgdBlock& block, const Draw& draw,
                       float* guess) {
  const base::Random random(draw.seed, base::Purpose::compress, draw.bucket);
  for (std::int64_t k = 0; k < block.rank; ++k) {
    const double length = column_length(last, block.matrix.columns, block.rank, k);
    for (std::int64_t c = 0; c < block.matrix.columns; ++c) {
      const std::int64_t at = c * block.rank + k;
      guess[at] = length == 0 ? static_cast<float>(random.uniform(
                                    static_cast<std::uint64_t>(block.right + at), -1, 1))
                              : static_cast<float>(static_cast<double>(last[at]) / length);
    }
  }
}

// Calls work(width, k) for groups of columns: `k` is the first column, `width` the number of
// columns. `width` is a compile-time constant, so that sums stay in registers.
template <class Work>
void in_columns(std::int64_t rank, const Work& work) {
  std::int64_t k = 0;
  for (; k + 4 <= rank; k += 4) work(std::integral_constant<std::int64_t, 4>(), k);
  for (; k < rank; ++k) work(std::integral_constant<std::int64_t, 1>(), k);
}

// P = M Q'
inline void multiply(const float* matrix, const float* guess, const PowerSgdBlock& block,
                     float* left) {
  const std::int64_t columns = block.matrix.columns, rank = block.rank;
  in_columns(rank, [=, &block](auto width, std::int64_t first) {
    for (std::int64_t r = 0; r < block.matrix.rows; ++r) {
      double sums[width] = {};
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t k = 0; k < width; ++k)
          sums[k] += static_cast<double>(matrix[r * columns + c]) *
                     static_cast<double>(guess[c * rank + first + k]);
      for (std::int64_t k = 0; k < width; ++k)
        left[r * rank + first + k] = static_cast<float>(sums[k]);
    }
  });
}

// Computes Q = M^T P^, the second thin matrix. `sums` is scratch memory of the size of Q.
inline void multiply_transposed(const float* matrix, const float* basis, const PowerSgdBlock& block,
                                double* sums, float* right) {
  const std::int64_t columns = block.matrix.columns, rank = block.rank;
  std::fill_n(sums, block.right_elements(), 0.0);
  in_columns(rank, [=, &block](auto width, std::int64_t first) {
    for (std::int64_t r = 0; r < block.matrix.rows; ++r) {
      double row[width];
      for (std::int64_t k = 0; k < width; ++k)
        row[k] = static_cast<double>(basis[r * rank + first + k]);
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t k = 0; k < width; ++k)
          sums[c * rank + first + k] += static_cast<double>(matrix[r * columns + c]) * row[k];
    }
  });
  std::transform(sums, sums + block.right_elements(), right,
                 [](double sum) { return static_cast<float>(sum); });
}

// Subtracts from column `k` its projection onto column `other`, which has length 1, or length 0
// (then nothing changes).
inline void subtract_projection(float* basis, const PowerSgdBlock& block, std::int64_t k,
                                std::int64_t other) {
  double along = 0;
  for (std::int64_t r = 0; r < block.matrix.rows; ++r)
    along += static_cast<double>(basis[r * block.rank + k]) *
             static_cast<double>(basis[r * block.rank + other]);
  for (std::int64_t r = 0; r < block.matrix.rows; ++r)
    basis[r * block.rank + k] -=
        static_cast<float>(along * static_cast<double>(basis[r * block.rank + other]));
}

// If less than this fraction of a column remains after subtracting projections, the remainder is
// only rounding error.
inline constexpr double kOfRounding = 1e-6;

// Orthonormalizes the columns of P in place. A column becomes 0 if it depends linearly on earlier
// ones, up to rounding.
inline void make_orthonormal(float* basis, const PowerSgdBlock& block) {
  for (std::int64_t k = 0; k < block.rank; ++k) {
    const double before = column_length(basis, block.matrix.rows, block.rank, k);
    for (std::int64_t other = 0; other < k; ++other) subtract_projection(basis, block, k, other);
    const double length = column_length(basis, block.matrix.rows, block.rank, k);
    const bool nothing = std::isfinite(before) && length <= kOfRounding * before;
    for (std::int64_t r = 0; r < block.matrix.rows; ++r) {
      float& value = basis[r * block.rank + k];
      value = nothing ? 0.0F : static_cast<float>(static_cast<double>(value) / length);
    }
  }
}

// Computes one row of the decoded gradient P^ Q^T.
inline void product_row(const float* basis_row, const float* right, const PowerSgdBlock& block,
                        double* sums) {
  std::fill_n(sums, block.matrix.columns, 0.0);
  in_columns(block.rank, [=, &block](auto width, std::int64_t first) {
    for (std::int64_t c = 0; c < block.matrix.columns; ++c)
      for (std::int64_t k = first; k < first + width; ++k)
        sums[c] +=
            static_cast<double>(basis_row[k]) * static_cast<double>(right[c * block.rank + k]);
  });
}

}  // namespace trainyard::compute::compression
