// SPDX-License-Identifier: GPL-3.0-or-later
// PowerSGD on several ranks, whose collectives are sums taken here.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "core/compute/compression/power_sgd_layout.h"
#include "tests/core/compute/compression_ops.h"

namespace trainyard::compute::compression {
namespace {

struct Rank {
  std::vector<float> gradient, residual, guess, left, basis, right;
  double squared_error = 0;
};

struct Ranks {
  PowerSgdLayout layout;
  bool error_feedback = true;
  std::vector<Rank> all;

  Ranks(const std::vector<Matrix>& matrices, std::int64_t rank, std::size_t count,
        bool feedback = true)
      : layout(power_sgd_layout(matrices, rank)), error_feedback(feedback), all(count) {
    const auto elements = static_cast<std::size_t>(layout.elements),
               left = static_cast<std::size_t>(layout.left_elements),
               right = static_cast<std::size_t>(layout.right_elements);
    for (Rank& r : all)
      r = {std::vector<float>(elements), std::vector<float>(feedback ? elements : 0),
           std::vector<float>(right),    std::vector<float>(left),
           std::vector<float>(left),     std::vector<float>(right)};
  }

  Tensor residual(Rank& r) const { return error_feedback ? flat(r.residual) : Tensor{}; }

  void add_up(std::vector<float> Rank::*part) {
    std::vector<float> sum((all[0].*part).size());
    for (Rank& r : all)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += (r.*part)[i];
    for (Rank& r : all) r.*part = sum;
  }

  void step() {
    for (Rank& r : all)
      run(PowerSgdLeft{flat(r.gradient), residual(r), flat(r.guess), flat(r.left), layout, 5, 1});
    add_up(&Rank::left);
    for (Rank& r : all)
      run(PowerSgdRight{flat(error_feedback ? r.residual : r.gradient), flat(r.left), flat(r.basis),
                        flat(r.right), layout});
    add_up(&Rank::right);
    for (Rank& r : all) {
      std::vector<double> error(1);
      const Tensor squared{DType::fp64, {1}, reinterpret_cast<std::byte*>(error.data())};
      run(PowerSgdDecode{flat(r.left), flat(r.basis), flat(r.right), flat(r.gradient), residual(r),
                         flat(r.guess), squared, layout, std::ssize(all)});
      r.squared_error = error[0];
    }
  }
};

std::vector<float> random_values(std::int64_t count, std::uint64_t seed) {
  const base::Random random(seed, base::Purpose::generate, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(random.normal(i));
  return values;
}

double norm(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

RC_GTEST_PROP(PowerSgd, sent_and_kept_values_add_up_to_the_gradient_in_the_mean_over_ranks, ()) {
  const auto rows = *rc::gen::inRange<std::int64_t>(2, 30),
             columns = *rc::gen::inRange<std::int64_t>(1, 30);
  const auto count = *rc::gen::inRange<std::size_t>(1, 6);
  Ranks ranks({{0, rows, columns}, {rows * columns, 1, rows}},
              *rc::gen::inRange<std::int64_t>(1, 6), count);
  for (std::uint64_t step = 0; step < 3; ++step) {
    std::vector<double> whole(static_cast<std::size_t>(ranks.layout.elements));
    for (std::size_t r = 0; r < count; ++r) {
      ranks.all[r].gradient = random_values(ranks.layout.elements, 10 * step + r);
      for (std::size_t i = 0; i < whole.size(); ++i)
        whole[i] += (static_cast<double>(ranks.all[r].gradient[i]) +
                     static_cast<double>(ranks.all[r].residual[i])) /
                    static_cast<double>(count);
    }
    ranks.step();
    for (std::size_t i = 0; i < whole.size(); ++i) {
      double found = static_cast<double>(ranks.all[0].gradient[i]) / static_cast<double>(count);
      for (const Rank& r : ranks.all)
        found += static_cast<double>(r.residual[i]) / static_cast<double>(count);
      RC_ASSERT(std::fabs(found - whole[i]) <= 1e-5);
    }
    for (const Rank& r : ranks.all) {
      RC_ASSERT(r.gradient == ranks.all[0].gradient);
      RC_ASSERT(std::fabs(std::sqrt(r.squared_error) - norm(r.residual)) <=
                1e-5 * (1 + norm(r.residual)));
    }
  }
}

TEST(PowerSgd, sends_vectors_and_small_matrices_uncompressed) {
  const Matrix matrices[] = {{0, 3, 3}, {9, 1, 50}, {59, 20, 30}};
  const PowerSgdLayout layout = power_sgd_layout(matrices, 2);
  EXPECT_EQ(layout.blocks[0].rank, 0);  // 2 (3 + 3) numbers for 9
  EXPECT_EQ(layout.blocks[1].rank, 0);
  EXPECT_EQ(layout.blocks[2].rank, 2);
  EXPECT_EQ(layout.left_elements, 9 + 50 + 20 * 2);
  EXPECT_EQ(layout.right_elements, 30 * 2);
  EXPECT_EQ(layout.elements, 9 + 50 + 600);
}

// A matrix of rank 2 is in the thin matrices whole once they have found it: the second step's guess
// is the first step's answer.
TEST(PowerSgd, sends_a_low_rank_matrix_exactly) {
  const std::vector<float> u = random_values(2 * 20, 1), v = random_values(2 * 15, 2);
  Ranks ranks({{0, 20, 15}}, 3, 2);
  for (int step = 0; step < 4; ++step) {
    for (Rank& r : ranks.all) {
      r.residual.assign(300, 0);
      for (std::size_t i = 0; i < 300; ++i)
        r.gradient[i] =
            u[2 * (i / 15)] * v[2 * (i % 15)] + u[2 * (i / 15) + 1] * v[2 * (i % 15) + 1];
    }
    ranks.step();
    EXPECT_LE(norm(ranks.all[0].residual), 1e-4 * norm(ranks.all[0].gradient)) << step;
  }
}

// A sum of 0 leaves no initial guess; the next nonzero sum is sent nevertheless.
TEST(PowerSgd, continues_after_a_gradient_of_zeros) {
  Ranks ranks({{0, 12, 9}}, 2, 2);
  ranks.step();
  EXPECT_EQ(norm(ranks.all[0].gradient), 0);
  for (Rank& r : ranks.all) r.gradient = random_values(108, 8);
  ranks.step();
  EXPECT_GT(norm(ranks.all[0].gradient), 1);
  EXPECT_TRUE(std::isfinite(norm(ranks.all[0].gradient)));
}

TEST(PowerSgd, propagates_nan_to_all_ranks) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (const bool feedback : {true, false}) {
      Ranks ranks({{0, 12, 9}}, 2, 3, feedback);
      for (Rank& r : ranks.all) r.gradient = random_values(108, 8);
      ranks.all[1].gradient[50] = bad;
      ranks.step();
      for (const Rank& r : ranks.all) {
        EXPECT_FALSE(std::isfinite(norm(r.gradient)));
        EXPECT_FALSE(std::isfinite(r.squared_error));
      }
    }
}

TEST(PowerSgd, without_feedback_gives_the_product_of_the_two_matrices) {
  Ranks with({{0, 12, 9}}, 2, 2), without({{0, 12, 9}}, 2, 2, false);
  for (std::size_t r = 0; r < 2; ++r)
    with.all[r].gradient = without.all[r].gradient = random_values(108, r);
  with.step();
  without.step();
  EXPECT_EQ(with.all[0].gradient, without.all[0].gradient) << "the first step has no residual";
  EXPECT_DOUBLE_EQ(with.all[0].squared_error, without.all[0].squared_error);
}

}  // namespace
}  // namespace trainyard::compute::compression
