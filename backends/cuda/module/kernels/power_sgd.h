// SPDX-License-Identifier: GPL-3.0-or-later
// PowerSGD (core/compute/compression/power_sgd.h), one matrix after another. Sums are accumulated
// in fp64 in a fixed order, so that all GPUs decode the same bits.
#pragma once

#include "backends/cuda/module/kernels/compression_input.h"
#include "core/compute/compression/power_sgd.h"

namespace trainyard::cuda {

using compression::PowerSgdBlock;
using compression::PowerSgdLayout;

// Number of columns of a thin matrix that one pass over the gradient matrix computes.
inline constexpr int kColumnsAtOnce = 4;

// Returns the maximum of bytes(block) over all blocks (parameters) of the layout.
template <class Bytes>
std::int64_t max_bytes(const PowerSgdLayout& layout, const Bytes& bytes) {
  std::int64_t most = 8;
  for (const PowerSgdBlock& block : layout.blocks)
    most = std::max<std::int64_t>(most, bytes(block));
  return most;
}

inline std::int64_t scratch_bytes(const compute::PowerSgdLeft& op) {
  return max_bytes(op.layout, [](const PowerSgdBlock& block) {
    return block.right_elements() * static_cast<std::int64_t>(sizeof(float));
  });
}
inline std::int64_t scratch_bytes(const compute::PowerSgdRight& op) {
  return max_bytes(op.layout, [](const PowerSgdBlock& block) {
    return bytes_of_column_sums(block.matrix.rows, block.matrix.columns, kColumnsAtOnce);
  });
}
inline std::int64_t scratch_bytes(const compute::PowerSgdDecode&) { return 8 + bytes_of_sums(1); }

// Returns the L2 norm of a column, on all threads of the team (thread block).
ON_DEVICE inline double column_length(const Team& team, const float* matrix, std::int64_t rows,
                                      std::int64_t columns, std::int64_t column) {
  double own = 0;
  for (std::int64_t r = team.rank; r < rows; r += team.size) {
    const double value = matrix[r * columns + column];
    own += value * value;
  }
  return std::sqrt(team.sum(own));
}

// Computes Q', the columns of the last Q with length 1. A zero column becomes random. One team
// (thread block) processes one column.
inline void make_guess(Stream& stream, const float* last, const PowerSgdBlock& block,
                       const base::Random& random, float* guess) {
  for_teams(stream, block.rank, 0, [=] ON_DEVICE(const Team& team, std::int64_t k) {
    const double length = column_length(team, last, block.matrix.columns, block.rank, k);
    for (std::int64_t c = team.rank; c < block.matrix.columns; c += team.size) {
      const std::int64_t at = c * block.rank + k;
      guess[at] = static_cast<float>(
          length == 0 ? random.uniform(static_cast<std::uint64_t>(block.right + at), -1, 1)
                      : last[at] / length);
    }
  });
}

// Computes P = M Q'. One team per row.
inline void multiply(Stream& stream, const float* matrix, const float* guess,
                     const PowerSgdBlock& block, float* left) {
  for_teams<64>(stream, block.matrix.rows, 0, [=] ON_DEVICE(const Team& team, std::int64_t r) {
    for (std::int64_t first = 0; first < block.rank; first += kColumnsAtOnce) {
      double own[kColumnsAtOnce] = {};
      for (std::int64_t c = team.rank; c < block.matrix.columns; c += team.size) {
        const double value = matrix[r * block.matrix.columns + c];
        for (int k = 0; k < kColumnsAtOnce; ++k)
          if (first + k < block.rank)
            own[k] += value * static_cast<double>(guess[c * block.rank + first + k]);
      }
      for (int k = 0; k < kColumnsAtOnce && first + k < block.rank; ++k) {
        const double sum = team.sum(own[k]);
        if (team.rank == 0) left[r * block.rank + first + k] = static_cast<float>(sum);
      }
    }
  });
}

// Orthonormalizes the columns of P in place, with a single team (thread block). Each thread owns
// some rows.
inline void make_orthonormal(Stream& stream, float* basis, const PowerSgdBlock& block) {
  for_teams(stream, 1, 0, [=] ON_DEVICE(const Team& team, std::int64_t) {
    const std::int64_t rows = block.matrix.rows, rank = block.rank;
    for (std::int64_t k = 0; k < rank; ++k) {
      const double before = column_length(team, basis, rows, rank, k);
      for (std::int64_t other = 0; other < k; ++other) {
        double own = 0;
        for (std::int64_t r = team.rank; r < rows; r += team.size)
          own += static_cast<double>(basis[r * rank + k]) *
                 static_cast<double>(basis[r * rank + other]);
        const double along = team.sum(own);
        for (std::int64_t r = team.rank; r < rows; r += team.size)
          basis[r * rank + k] -= static_cast<float>(along * basis[r * rank + other]);
      }
      const double length = column_length(team, basis, rows, rank, k);
      const bool nothing = std::isfinite(before) && length <= compression::kOfRounding * before;
      for (std::int64_t r = team.rank; r < rows; r += team.size)
        basis[r * rank + k] =
            nothing ? 0.0F : static_cast<float>(static_cast<double>(basis[r * rank + k]) / length);
    }
  });
}

// Computes Q = M^T P^.
inline void multiply_transposed(Stream& stream, const float* matrix, const float* basis,
                                const PowerSgdBlock& block, double* sums, float* right) {
  for (std::int64_t first = 0; first < block.rank; first += kColumnsAtOnce)
    sum_columns<kColumnsAtOnce>(
        stream, block.matrix.rows, block.matrix.columns, sums,
        [=] ON_DEVICE(std::int64_t row, std::int64_t column) {
          const double value = matrix[row * block.matrix.columns + column];
          Sums<kColumnsAtOnce> all;
          for (int k = 0; k < kColumnsAtOnce; ++k)
            if (first + k < block.rank)
              all.value[k] = value * static_cast<double>(basis[row * block.rank + first + k]);
          return all;
        },
        [=] ON_DEVICE(std::int64_t column, const Sums<kColumnsAtOnce>& all) {
          for (int k = 0; k < kColumnsAtOnce; ++k)
            if (first + k < block.rank)
              right[column * block.rank + first + k] = static_cast<float>(all.value[k]);
        });
}

template <class W>
void run(Stream& stream, const compute::PowerSgdLeft& op, std::byte* scratch) {
  auto *const gradient = op.gradient.as<float>(), *const residual = op.residual.as<float>(),
              *const guess = reinterpret_cast<float*>(scratch);
  if (residual != nullptr)
    for_each(stream, op.layout.elements,
             [=] ON_DEVICE(std::int64_t i) { residual[i] += gradient[i]; });
  const base::Random random(op.seed, base::Purpose::compress, op.bucket);
  for (const PowerSgdBlock& block : op.layout.blocks) {
    const float* const matrix = (residual != nullptr ? residual : gradient) + block.matrix.first;
    float* const left = op.left.as<float>() + block.left;
    if (block.rank == 0) {
      for_each(stream, block.left_elements(),
               [=] ON_DEVICE(std::int64_t i) { left[i] = matrix[i]; });
      continue;
    }
    make_guess(stream, op.guess.as<float>() + block.right, block, random, guess);
    multiply(stream, matrix, guess, block, left);
  }
}

template <class W>
void run(Stream& stream, const compute::PowerSgdRight& op, std::byte* scratch) {
  for (const PowerSgdBlock& block : op.layout.blocks) {
    if (block.rank == 0) continue;
    const float* const left = op.left.as<float>() + block.left;
    float* const basis = op.basis.as<float>() + block.left;
    for_each(stream, block.left_elements(), [=] ON_DEVICE(std::int64_t i) { basis[i] = left[i]; });
    make_orthonormal(stream, basis, block);
    multiply_transposed(stream, op.source.as<float>() + block.matrix.first, basis, block,
                        reinterpret_cast<double*>(scratch), op.right.as<float>() + block.right);
  }
}

// Decodes one matrix. The matrix that this rank compressed is in the residual; without a residual,
// in the gradient.
inline void decode(Stream& stream, const compute::PowerSgdDecode& op, const PowerSgdBlock& block,
                   double* error, double* sums) {
  const float *const basis = op.basis.as<float>() + block.left, *const right =
                                                                    op.right.as<float>() +
                                                                    block.right;
  float *const gradient = op.gradient.as<float>() + block.matrix.first,
               *const residual =
                   op.residual.empty() ? nullptr : op.residual.as<float>() + block.matrix.first;
  sum_all<1>(
      stream, block.matrix.rows * block.matrix.columns, sums,
      [=, ranks = static_cast<double>(op.ranks)] ON_DEVICE(std::int64_t i) {
        const std::int64_t row = i / block.matrix.columns, column = i % block.matrix.columns;
        double all = 0;
        for (std::int64_t k = 0; k < block.rank; ++k)
          all += static_cast<double>(basis[row * block.rank + k]) *
                 static_cast<double>(right[column * block.rank + k]);
        const auto sum = static_cast<float>(all);
        const double left = static_cast<double>(residual != nullptr ? residual[i] : gradient[i]) -
                            static_cast<double>(sum) / ranks;
        gradient[i] = sum;
        if (residual != nullptr)
          residual[i] = std::isfinite(left) ? static_cast<float>(left) : 0.0F;
        return Sums<1>{{left * left}};
      },
      [=] ON_DEVICE(const Sums<1>& all) { *error += all.value[0]; });
}

template <class W>
void run(Stream& stream, const compute::PowerSgdDecode& op, std::byte* scratch) {
  auto* const error = reinterpret_cast<double*>(scratch);
  clear(stream, error, sizeof(double));
  for (const PowerSgdBlock& block : op.layout.blocks) {
    if (block.rank > 0) {
      decode(stream, op, block, error, error + 1);
      continue;
    }
    const float* const left = op.left.as<float>() + block.left;
    float *const gradient = op.gradient.as<float>() + block.matrix.first,
                 *const residual =
                     op.residual.empty() ? nullptr : op.residual.as<float>() + block.matrix.first;
    for_each(stream, block.left_elements(), [=] ON_DEVICE(std::int64_t i) {
      gradient[i] = left[i];
      if (residual != nullptr) residual[i] = 0;
    });
  }
  for_each(stream, 1, [=, to = op.squared_error.as<double>()] ON_DEVICE(std::int64_t) {
    *to = *error;
  });  // written once, because it may be in host memory
  // Sets non-finite elements of the next guess to 0, as all devices do.
  for_each(stream, op.layout.right_elements,
           [=, right = op.right.as<float>(), guess = op.guess.as<float>()] ON_DEVICE(
               std::int64_t i) { guess[i] = compression::is_finite(right[i]) ? right[i] : 0.0F; });
}

}  // namespace trainyard::cuda
