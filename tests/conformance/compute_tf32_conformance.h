// SPDX-License-Identifier: GPL-3.0-or-later
// Requirements on every Compute under Multiplies::tf32: it uses at least 11 significant bits of
// each factor.
#pragma once

#include "tests/conformance/compute_bfloat16_conformance.h"
#include "tests/problem_matchers.h"

namespace trainyard::conformance {

// Truncation loses at most 2^-10 of each of two factors, and sums are smaller than the sum of
// magnitudes.
inline constexpr double kOfTf32 = 0x1p-7;

TEST_P(ComputeConformance, tf32_products_are_close_to_the_reference) {
  const auto products = multiplying(Multiplies::tf32, all_cases(), Sizes{2, 3, 4});
  const auto images = multiplying(Multiplies::tf32, image_cases(), kImages.back());
  ASSERT_GE(products.size(), 6u + images.size());
  ASSERT_GE(images.size(), 3u);
  for (const Sizes& sizes : kSizes)
    for (const NamedCase& named : products)
      compare(*device_, *reference_, named, DType::fp32, sizes, kOfTf32);
  for (const ImageSizes& sizes : kImages)
    for (const NamedImageCase& named : images)
      compare(*device_, *reference_, named, DType::fp32, sizes, kOfTf32);
}

TEST_P(ComputeConformance, tf32_is_deterministic_at_any_address) {
  for (const NamedCase& named : multiplying(Multiplies::tf32, all_cases(), Sizes{2, 3, 4}))
    expect_same_bits(*device_, named);
}

// Factors that fit in 11 bits are not rounded, and neither is any factor of other tensors.
TEST_P(ComputeConformance, tf32_keeps_representable_factors_and_refuses_other_dtypes) {
  Values values;
  for (const NamedCase& named : multiplying(Multiplies::tf32, all_cases(), Sizes{2, 3, 4})) {
    const auto kernel = device_->prepare(named.make(values, DType::fp64, Sizes{2, 3, 4}).op);
    ASSERT_FALSE(kernel) << named.name;
    EXPECT_THAT(kernel.error(), testing::AllOf(base::IsProblem("bad_op"),
                                               base::Reports("multiplies"), base::Reports("tf32")));
  }
  for (const float held : {1 + 0x1p-10F, 3.0F, -0x1.55p3F}) {
    const Tensor input = values.zeros(DType::fp32, {1, 1}),
                 weight = values.zeros(DType::fp32, {1, 1}),
                 output = values.zeros(DType::fp32, {1, 1});
    set_element(input, 0, held);
    set_element(weight, 0, held);
    run(*device_, compute::LinearForward{
                      input, weight, {}, output, compute::Activation::none, Multiplies::tf32});
    EXPECT_EQ(element(output, 0), static_cast<double>(held * held));
  }
}

}  // namespace trainyard::conformance
