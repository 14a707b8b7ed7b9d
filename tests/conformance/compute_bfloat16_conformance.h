// SPDX-License-Identifier: GPL-3.0-or-later
// Requirements on every Compute under Multiplies::bfloat16: it rounds factors, and nothing else, on
// any machine.
#pragma once

#include "tests/conformance/compute_image_conformance.h"
#include "tests/problem_matchers.h"

namespace trainyard::conformance {

using compute::Multiplies;

inline bool multiplies(const compute::Op& op) {
  return std::visit(
      [](const auto& one) {
        return requires { one.multiplies; };
      },
      op);
}

inline void set_multiplies(compute::Op& op, Multiplies wanted) {
  std::visit(
      [&](auto& one) {
        if constexpr (requires { one.multiplies; }) one.multiplies = wanted;
      },
      op);
}

// The cases that multiply, with bfloat16 factors.
template <class AnyCase, class AnySizes>
std::vector<AnyCase> multiplying(Multiplies wanted, const std::vector<AnyCase>& cases,
                                 const AnySizes& sizes) {
  std::vector<AnyCase> products;
  for (const AnyCase& named : cases) {
    Values values;
    if (!multiplies(named.make(values, DType::fp32, sizes).op)) continue;
    products.push_back({named.name + (wanted == Multiplies::tf32 ? " in tf32" : " in bfloat16"),
                        [=, make = named.make](Values& of, DType dtype, const AnySizes& size) {
                          Case made = make(of, dtype, size);
                          set_multiplies(made.op, wanted);
                          return made;
                        }});
  }
  return products;
}

inline std::vector<NamedCase> bfloat16_cases() {
  return multiplying(Multiplies::bfloat16, all_cases(), Sizes{2, 3, 4});
}
inline std::vector<NamedImageCase> bfloat16_image_cases() {
  return multiplying(Multiplies::bfloat16, image_cases(), kImages.back());
}

TEST_P(ComputeConformance, bfloat16_products_equal_the_reference_for_every_size) {
  ASSERT_EQ(bfloat16_cases().size(), 6 + bfloat16_image_cases().size());
  ASSERT_GE(bfloat16_image_cases().size(), 3u);
  for (const Sizes& sizes : kSizes)
    for (const NamedCase& named : bfloat16_cases())
      compare(*device_, *reference_, named, DType::fp32, sizes);
  for (const ImageSizes& sizes : kImages)
    for (const NamedImageCase& named : bfloat16_image_cases())
      compare(*device_, *reference_, named, DType::fp32, sizes);
}

TEST_P(ComputeConformance, bfloat16_is_deterministic_at_any_address) {
  for (const NamedCase& named : bfloat16_cases()) expect_same_bits(*device_, named);
}

TEST_P(ComputeConformance, bfloat16_enqueue_allocates_nothing) {
  const auto queue = device_->make_queue();
  for (const NamedCase& named : bfloat16_cases()) {
    Values values;
    auto kernel = device_->prepare(named.make(values, DType::fp32, {33, 40, 24}).op);
    ASSERT_TRUE(kernel) << base::to_string(kernel.error());
    (*kernel)->enqueue(*queue);  // a queue may set up once
    const long before = allocations;
    for (int i = 0; i < 10; ++i) (*kernel)->enqueue(*queue);
    EXPECT_LE(allocations - before, 10 * GetParam().library_allocations) << named.name;
    ASSERT_TRUE(compute::finish(*queue)) << "the object it was created from still exists";
  }
}

// Sizes grow and shrink, and each is run twice: a queue gives the same scratch memory to
// consecutive ops.
TEST_P(ComputeConformance, bfloat16_ops_on_one_queue_are_independent) {
  const auto queue = device_->make_queue();
  Values mine, its;
  std::vector<Case> found, expected;
  std::vector<std::unique_ptr<compute::Kernel>> kernels;
  for (const std::int64_t batch : {3, 70, 5})
    for (const NamedCase& named : bfloat16_cases()) {
      found.push_back(named.make(mine, DType::fp32, {batch, 40, 24}));
      expected.push_back(named.make(its, DType::fp32, {batch, 40, 24}));
      kernels.push_back(std::move(device_->prepare(found.back().op).value()));
      run(*reference_, expected.back().op);
    }
  for (int again = 0; again < 2; ++again)
    for (const auto& kernel : kernels) kernel->enqueue(*queue);
  const auto ran = compute::finish(*queue);
  ASSERT_TRUE(ran) << base::to_string(ran.error());
  for (std::size_t c = 0; c < found.size(); ++c)
    for (std::size_t r = 0; r < found[c].results.size(); ++r)
      expect_near(found[c].results[r].second, expected[c].results[r].second, tolerance(DType::fp32),
                  found[c].results[r].first);
}

// One number times another, by every op that multiplies: layers and convolutions of one input and
// one output.
class OneProduct {
 public:
  OneProduct(float left, float right)
      : left_(filled({1, 1}, left)),
        right_(filled({1, 1}, right)),
        left_image_(filled({1, 1, 1, 1}, left)),
        right_image_(filled({1, 1, 1, 1}, right)) {}

  struct Way {
    const char* name;
    compute::Op op;
    Tensor product;
    Tensor bias_gradient = {};  // of `right`, where there is one
  };
  std::vector<Way> ways(Multiplies m) {
    const auto none = compute::Activation::none;
    const Tensor zero = filled({1}, 0), sum = filled({1}, -1), image_sum = filled({1}, -1);
    const auto vector = [&] { return filled({1, 1}, -1); };
    const auto image = [&] { return filled({1, 1, 1, 1}, -1); };
    const Tensor out[] = {vector(), vector(), vector(), image(), image(), image()};
    return {
        {"linear_forward", compute::LinearForward{left_, right_, zero, out[0], none, m}, out[0]},
        {"linear_backward_input", compute::LinearBackwardInput{left_, right_, out[1], m}, out[1]},
        {"linear_backward_weight", compute::LinearBackwardWeight{left_, right_, out[2], sum, {}, m},
         out[2], sum},
        {"conv2d_forward",
         compute::Conv2dForward{left_image_, right_image_, zero, out[3], {}, none, m}, out[3]},
        {"conv2d_backward_input",
         compute::Conv2dBackwardInput{left_image_, right_image_, out[4], {}, m}, out[4]},
        {"conv2d_backward_weight",
         compute::Conv2dBackwardWeight{left_image_, right_image_, out[5], image_sum, {}, {}, m},
         out[5], image_sum}};
  }

 private:
  Tensor filled(Shape shape, float value) {
    const Tensor tensor = values_.zeros(DType::fp32, shape);
    *tensor.as<float>() = value;
    return tensor;
  }

  Values values_;
  Tensor left_, right_, left_image_, right_image_;
};

struct RoundedNumber {
  float number, rounded;
};

inline constexpr RoundedNumber kRounded[] = {
    {1 + 0x1p-9F, 1},
    {1 + 0x1p-8F, 1},                       // a tie
    {1 + 3 * 0x1p-8F, 1 + 0x1p-6F},         // a tie
    {1 + 0x1p-8F + 0x1p-20F, 1 + 0x1p-7F},  // just more than one
    {-2 + 0x1p-9F, -2},                     // up into the next power of two
    {0x1.FEFFFEp127F, 0x1.FEp127F},         // the greatest
    {0x1.23p-100F, 0x1.24p-100F},           // a tie
    {std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()}};

TEST_P(ComputeConformance, bfloat16_rounds_both_factors_of_every_product) {
  for (const RoundedNumber& n : kRounded)
    for (const bool swapped : {false, true}) {
      OneProduct one(swapped ? 1 : n.number, swapped ? n.number : 1);
      for (const OneProduct::Way& way : one.ways(Multiplies::bfloat16)) {
        run(*device_, way.op);
        EXPECT_EQ(*way.product.as<float>(), n.rounded)
            << way.name << " of " << n.number << (swapped ? " on the right" : "");
      }
    }
}

TEST_P(ComputeConformance, full_products_do_not_round_their_factors) {
  OneProduct one(1 + 0x1p-9F, 1);
  for (const OneProduct::Way& way : one.ways(Multiplies::full)) {
    run(*device_, way.op);
    EXPECT_EQ(*way.product.as<float>(), 1 + 0x1p-9F) << way.name;
  }
}

// Sums are not rounded: neither a product that bfloat16 cannot represent, nor a bias, nor its
// gradient.
TEST_P(ComputeConformance, bfloat16_rounds_only_factors) {
  OneProduct one(1 + 0x1p-7F, 1 + 0x1p-7F);
  for (const OneProduct::Way& way : one.ways(Multiplies::bfloat16)) {
    run(*device_, way.op);
    EXPECT_EQ(*way.product.as<float>(), 1 + 0x1p-6F + 0x1p-14F) << way.name;
  }
  OneProduct fine(1, 1 + 0x1p-9F);
  for (const OneProduct::Way& way : fine.ways(Multiplies::bfloat16)) {
    run(*device_, way.op);
    if (way.bias_gradient.empty()) continue;
    EXPECT_EQ(*way.bias_gradient.as<float>(), 1 + 0x1p-9F) << way.name;
  }
  OneProduct biased(1, 1);
  for (OneProduct::Way& way : biased.ways(Multiplies::bfloat16))
    std::visit(
        [&](auto& op) {
          if constexpr (requires { op.bias; }) {
            *op.bias.template as<float>() = 0x1p-9F;
            run(*device_, op);
            EXPECT_EQ(*way.product.as<float>(), 1 + 0x1p-9F) << way.name;
          }
        },
        way.op);
}

TEST_P(ComputeConformance, bfloat16_keeps_nan) {
  for (const bool swapped : {false, true}) {
    const float none = std::numeric_limits<float>::quiet_NaN();
    OneProduct one(swapped ? 1 : none, swapped ? none : 1);
    for (const OneProduct::Way& way : one.ways(Multiplies::bfloat16)) {
      run(*device_, way.op);
      EXPECT_TRUE(std::isnan(*way.product.as<float>())) << way.name;
    }
  }
}

TEST_P(ComputeConformance, bfloat16_of_fp64_is_refused) {
  for (const NamedCase& named : bfloat16_cases()) {
    Values values;
    const auto kernel = device_->prepare(named.make(values, DType::fp64, {3, 4, 5}).op);
    ASSERT_FALSE(kernel) << named.name;
    EXPECT_THAT(kernel.error(),
                testing::AllOf(base::IsProblem("bad_op"), base::Reports("multiplies"),
                               base::Reports("bfloat16")));
  }
}

}  // namespace trainyard::conformance
