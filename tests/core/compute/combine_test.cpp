// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/combine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/compute/reference/reference.h"

namespace trainyard::compute {
namespace {

using base::Reduction;
using testing::ElementsAre;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class Number>
std::byte* bytes(std::vector<Number>& numbers) {
  return reinterpret_cast<std::byte*>(numbers.data());
}

template <class Number>
class Combine : public testing::Test {
 protected:
  static constexpr DType kDType = sizeof(Number) == 8 ? DType::fp64 : DType::fp32;

  // Combines three sources, into the source `into`, or into separate memory.
  std::vector<Number> combined(Reduction reduction, int into = -1) {
    std::vector<Number> a{1, -5, 3, 0}, b{4, 2, -7, 0}, c{2, 2, 2, 2}, beside(4);
    std::vector<Number>* all[] = {&a, &b, &c};
    const std::byte* sources[] = {bytes(a), bytes(b), bytes(c)};
    std::vector<Number>& target = into < 0 ? beside : *all[into];
    combine(*compute_, reduction, kDType, bytes(target), sources, 4);
    return target;
  }

  std::unique_ptr<Compute> compute_ = reference::make();
};
using CombinedNumbers = testing::Types<float, double>;
TYPED_TEST_SUITE(Combine, CombinedNumbers);

TYPED_TEST(Combine, is_the_same_wherever_the_result_goes) {
  for (int into = -1; into < 3; ++into) {
    EXPECT_THAT(this->combined(Reduction::min, into), ElementsAre(1, -5, -7, 0)) << into;
    EXPECT_THAT(this->combined(Reduction::max, into), ElementsAre(4, 2, 3, 2)) << into;
  }
  for (const Reduction adds : {Reduction::sum, Reduction::mean})
    EXPECT_THAT(this->combined(adds), ElementsAre(7, -1, -2, 2));
}

TYPED_TEST(Combine, a_nan_stays_wherever_it_stands) {
  for (const Reduction reduction : {Reduction::min, Reduction::max})
    for (const bool first : {true, false}) {
      std::vector<TypeParam> a{first ? static_cast<TypeParam>(kNaN) : 1},
          b{first ? 1 : static_cast<TypeParam>(kNaN)}, to(1);
      choose(reduction, TestFixture::kDType, bytes(to), bytes(a), bytes(b), 1);
      EXPECT_TRUE(std::isnan(to[0]));
    }
}

TYPED_TEST(Combine, compensation_for_delay_is_the_square_of_the_gradient_times_the_way_gone) {
  std::vector<TypeParam> gradient{2, -3, 5, 0}, now{1, 1, 7, 9}, then{3, 0.5, 7, 1};
  compensate(*this->compute_, TestFixture::kDType, bytes(gradient), bytes(now), bytes(then), 0.5,
             4);
  EXPECT_THAT(gradient, ElementsAre(2 + 0.5 * 4 * -2, -3 + 0.5 * 9 * 0.5, 5, 0));
}

TYPED_TEST(Combine, a_mean_is_divided_not_multiplied_by_a_rounded_share) {
  std::vector<TypeParam> sums{9, 1, -6};
  divide(TestFixture::kDType, bytes(sums), 3, 3);
  EXPECT_THAT(sums, ElementsAre(3, static_cast<TypeParam>(1) / 3, -2));
}

}  // namespace
}  // namespace trainyard::compute
