// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/compute/compression/gradient.h"
#include "core/compute/compression/kernels.h"
#include "core/compute/compression/power_sgd.h"
#include "core/compute/ops.h"

namespace trainyard::compute::compression {
namespace {

// Returns the number of scratch elements that the parameter with the largest Q needs.
std::size_t max_right_elements(const PowerSgdLayout& layout) {
  std::int64_t most = 0;
  for (const PowerSgdBlock& block : layout.blocks)
    most = std::max({most, block.right_elements(), block.rank});
  return static_cast<std::size_t>(most);
}

// Returns the largest number of columns of a parameter, rounded up to a multiple of 8.
std::size_t max_columns(const PowerSgdLayout& layout) {
  std::int64_t most = 0;
  for (const PowerSgdBlock& block : layout.blocks) most = std::max(most, block.matrix.columns);
  return static_cast<std::size_t>(most + 7);
}

class Left final : public Kernel {
 public:
  explicit Left(const PowerSgdLeft& op) : op_(op), guess_(max_right_elements(op.layout)) {}

  void enqueue(Queue&) override {
    const Gradient gradient(op_.gradient.as<float>(), op_.residual.as<float>(),
                            op_.layout.elements);
    const float* const source = (op_.residual.empty() ? op_.gradient : op_.residual).as<float>();
    for (const PowerSgdBlock& block : op_.layout.blocks) {
      const float* const matrix = source + block.matrix.first;
      float* const left = op_.left.as<float>() + block.left;
      if (block.rank == 0) {
        std::copy_n(matrix, block.left_elements(), left);
        continue;
      }
      make_guess(op_.guess.as<float>() + block.right, block, {op_.seed, op_.bucket}, guess_.data());
      multiply(matrix, guess_.data(), block, left);
    }
  }

 private:
  PowerSgdLeft op_;
  std::vector<float> guess_;
};

class Right final : public Kernel {
 public:
  explicit Right(const PowerSgdRight& op) : op_(op), sums_(max_right_elements(op.layout)) {}

  void enqueue(Queue&) override {
    for (const PowerSgdBlock& block : op_.layout.blocks) {
      if (block.rank == 0) continue;
      float* const basis = op_.basis.as<float>() + block.left;
      std::copy_n(op_.left.as<float>() + block.left, block.left_elements(), basis);
      make_orthonormal(basis, block);
      multiply_transposed(op_.source.as<float>() + block.matrix.first, basis, block, sums_.data(),
                          op_.right.as<float>() + block.right);
    }
  }

 private:
  PowerSgdRight op_;
  std::vector<double> sums_;
};

class Decode final : public Kernel {
 public:
  explicit Decode(const PowerSgdDecode& op) : op_(op), row_(max_columns(op.layout)) {}

  void enqueue(Queue&) override {
    Sums squares;
    for (const PowerSgdBlock& block : op_.layout.blocks)
      block.rank > 0 ? decode(block, squares) : take_as_it_is(block);
    // Sets non-finite elements of Q to zero, because such elements would stay non-finite forever. A
    // column that is zero restarts from random numbers.
    std::transform(op_.right.as<float>(), op_.right.as<float>() + op_.layout.right_elements,
                   op_.guess.as<float>(),
                   [](float value) { return is_finite(value) ? value : 0.0F; });
    *op_.squared_error.as<double>() = squares.total();
  }

 private:
  void take_as_it_is(const PowerSgdBlock& block) {
    std::copy_n(op_.left.as<float>() + block.left, block.left_elements(),
                op_.gradient.as<float>() + block.matrix.first);
    if (!op_.residual.empty())
      std::fill_n(op_.residual.as<float>() + block.matrix.first, block.left_elements(), 0.0F);
  }

  void decode(const PowerSgdBlock& block, Sums& squares) {
    const float *const basis = op_.basis.as<float>() + block.left, *const right =
                                                                       op_.right.as<float>() +
                                                                       block.right;
    const std::int64_t columns = block.matrix.columns, padded = (columns + 7) / 8 * 8;
    for (std::int64_t r = 0; r < block.matrix.rows; ++r) {
      product_row(basis + r * block.rank, right, block, row_.data());
      take(block.matrix.first + r * columns, columns);
      std::fill(row_.begin() + columns, row_.begin() + padded, 0.0);
      squares.add(row_.data(), padded, [](double left) { return left * left; });
    }
  }

  // Writes a row of the decoded matrix to the gradient. Replaces the row in `row_` by the error:
  // what this rank wanted to send (its residual, or else its gradient) minus what it contributed.
  void take(std::int64_t first, std::int64_t columns) {
    float* const residual = op_.residual.empty() ? nullptr : op_.residual.as<float>() + first;
    float* const gradient = op_.gradient.as<float>() + first;
    const float* const source = residual != nullptr ? residual : gradient;
    double* const row = row_.data();
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto sum = static_cast<float>(row[c]);
      row[c] = static_cast<double>(source[c]) -
               static_cast<double>(sum) / static_cast<double>(op_.ranks);
      gradient[c] = sum;
    }
    // A non-finite error is not kept, as in Gradient::sent.
    for (std::int64_t c = 0; residual != nullptr && c < columns; ++c)
      residual[c] = std::isfinite(row[c]) ? static_cast<float>(row[c]) : 0.0F;
  }

  PowerSgdDecode op_;
  std::vector<double> row_;
};

}  // namespace

std::unique_ptr<Kernel> kernel(const PowerSgdLeft& op) { return std::make_unique<Left>(op); }
std::unique_ptr<Kernel> kernel(const PowerSgdRight& op) { return std::make_unique<Right>(op); }
std::unique_ptr<Kernel> kernel(const PowerSgdDecode& op) { return std::make_unique<Decode>(op); }

}  // namespace trainyard::compute::compression
