// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/compute/compression/gradient.h"
#include "core/compute/compression/kernels.h"
#include "core/compute/compression/power_sgd.h"

namespace trainyard::compute::compression {
namespace {

// Room for the widest block.
std::size_t most_right_elements(const PowerSgdLayout& layout) {
  std::int64_t most = 0;
  for (const PowerSgdBlock& block : layout.blocks) most = std::max({most, block.right_elements(), block.rank});
  return static_cast<std::size_t>(most);
}

class Left final : public Kernel {
 public:
  explicit Left(const PowerSgdLeft& op) : op_(op), guess_(most_right_elements(op.layout)), sums_(guess_.size()) {}

  void enqueue(Queue&) override {
    const Gradient gradient(op_.gradient.as<float>(), op_.residual.as<float>(), op_.layout.elements);
    const float* const source = (op_.residual.empty() ? op_.gradient : op_.residual).as<float>();
    for (const PowerSgdBlock& block : op_.layout.blocks) {
      const float* const matrix = source + block.matrix.first;
      float* const left = op_.left.as<float>() + block.left;
      if (block.rank == 0) {
        std::copy_n(matrix, block.left_elements(), left);
        continue;
      }
      begin_from(op_.guess.as<float>() + block.right, block, {op_.seed, op_.bucket}, guess_.data());
      multiply(matrix, guess_.data(), block, sums_.data(), left);
    }
  }

 private:
  PowerSgdLeft op_;
  std::vector<float> guess_;
  std::vector<double> sums_;
};

class Right final : public Kernel {
 public:
  explicit Right(const PowerSgdRight& op) : op_(op), sums_(most_right_elements(op.layout)) {}

  void enqueue(Queue&) override {
    for (const PowerSgdBlock& block : op_.layout.blocks) {
      if (block.rank == 0) continue;
      float* const basis = op_.basis.as<float>() + block.left;
      std::copy_n(op_.left.as<float>() + block.left, block.left_elements(), basis);
      make_orthonormal(basis, block);
      multiply_transposed(op_.source.as<float>() + block.matrix.first, basis, block, sums_.data(), op_.right.as<float>() + block.right);
    }
  }

 private:
  PowerSgdRight op_;
  std::vector<double> sums_;
};

class Decode final : public Kernel {
 public:
  explicit Decode(const PowerSgdDecode& op) : op_(op) {}

  void enqueue(Queue&) override {
    double squared_error = 0;
    for (const PowerSgdBlock& block : op_.layout.blocks) block.rank > 0 ? decode(block, squared_error) : take_as_it_is(block);
    // A guess that is not finite would never lead anywhere: it begins anew, as one of zeros does.
    std::transform(op_.right.as<float>(), op_.right.as<float>() + op_.layout.right_elements, op_.guess.as<float>(),
                   [](float value) { return is_finite(value) ? value : 0.0F; });
    *op_.squared_error.as<double>() = squared_error;
  }

 private:
  void take_as_it_is(const PowerSgdBlock& block) {
    std::copy_n(op_.left.as<float>() + block.left, block.left_elements(), op_.gradient.as<float>() + block.matrix.first);
    if (!op_.residual.empty()) std::fill_n(op_.residual.as<float>() + block.matrix.first, block.left_elements(), 0.0F);
  }

  // What was to be sent lies in the residual, or else in the gradient still.
  void decode(const PowerSgdBlock& block, double& squared_error) {
    const float *const basis = op_.basis.as<float>() + block.left, *const right = op_.right.as<float>() + block.right;
    float* const residual = op_.residual.empty() ? nullptr : op_.residual.as<float>() + block.matrix.first;
    float* const gradient = op_.gradient.as<float>() + block.matrix.first;
    for (std::int64_t r = 0, i = 0; r < block.matrix.rows; ++r)
      for (std::int64_t c = 0; c < block.matrix.columns; ++c, ++i) {
        const float sum = product_at(basis, right, block, r, c);
        const double left = static_cast<double>(residual != nullptr ? residual[i] : gradient[i]) - static_cast<double>(sum) / static_cast<double>(op_.ranks);
        squared_error += left * left;
        if (residual != nullptr) residual[i] = std::isfinite(left) ? static_cast<float>(left) : 0.0F;  // as Gradient::sent
        gradient[i] = sum;
      }
  }

  PowerSgdDecode op_;
};

}  // namespace

std::unique_ptr<Kernel> kernel(const PowerSgdLeft& op) { return std::make_unique<Left>(op); }
std::unique_ptr<Kernel> kernel(const PowerSgdRight& op) { return std::make_unique<Right>(op); }
std::unique_ptr<Kernel> kernel(const PowerSgdDecode& op) { return std::make_unique<Decode>(op); }

}  // namespace trainyard::compute::compression
