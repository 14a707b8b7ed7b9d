// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/validate.h"

#include "tests/conformance/compute_cases.h"

namespace trainyard::compute {
namespace {

using conformance::Case;
using conformance::Values;

constexpr conformance::Sizes kSome = {4, 3, 2};

TEST(validate, accepts_every_op_that_fits) {
  for (const auto& named : conformance::all_cases())
    for (const auto& sizes : conformance::kSizes) {
      Values values;
      const auto fits = validate(named.make(values, DType::fp64, sizes).op);
      EXPECT_TRUE(fits) << named.name << ": " << base::to_string(fits.error());
    }
}

// Breaks each tensor of an op in turn, by `breaks`; all must be refused.
void expect_refused(const char* what, const std::function<void(Tensor&)>& breaks) {
  using conformance::sgd_update, conformance::softmax_cross_entropy, conformance::linear_backward_weight, conformance::adam_update;
  Values values;
  const auto refused = [&](Op op, const char* tensor) {
    const auto fits = validate(op);
    EXPECT_FALSE(fits) << what << " in " << name(op) << "." << tensor;
    if (!fits) {
      EXPECT_EQ(fits.error().where, name(op));
    }
  };
  const auto forward = std::get<LinearForward>(conformance::linear_forward(values, DType::fp32, kSome, Activation::none).op);
  for (const auto part : {&LinearForward::input, &LinearForward::weight, &LinearForward::bias, &LinearForward::output}) {
    auto op = forward;
    breaks(op.*part);
    refused(op, "one of four");
  }
  const auto weight = std::get<LinearBackwardWeight>(linear_backward_weight(values, DType::fp32, kSome).op);
  for (const auto part :
       {&LinearBackwardWeight::input, &LinearBackwardWeight::output_gradient, &LinearBackwardWeight::weight_gradient, &LinearBackwardWeight::bias_gradient}) {
    auto op = weight;
    breaks(op.*part);
    refused(op, "one of four");
  }
  const auto loss = std::get<SoftmaxCrossEntropy>(softmax_cross_entropy(values, DType::fp32, kSome, true).op);
  for (const auto part : {&SoftmaxCrossEntropy::logits, &SoftmaxCrossEntropy::labels, &SoftmaxCrossEntropy::metrics}) {
    auto op = loss;
    breaks(op.*part);
    refused(op, "one of three");
  }
  const auto adam = std::get<AdamUpdate>(adam_update(values, DType::fp32, kSome, false).op);
  for (const auto part : {&AdamUpdate::first_moment, &AdamUpdate::second_moment, &AdamUpdate::step}) {
    auto op = adam;
    breaks(op.*part);
    refused(op, "one of three");
  }
  for (const auto part : {&UpdateInputs::parameters, &UpdateInputs::gradient, &UpdateInputs::learning_rate, &UpdateInputs::statistics}) {
    auto op = std::get<SgdUpdate>(sgd_update(values, DType::fp32, kSome, 0.9).op);
    breaks(op.common.*part);
    refused(op, "one of four");
  }
}

TEST(validate, refuses_a_shape_that_is_one_too_long) {
  expect_refused("a longer shape", [](Tensor& tensor) { ++tensor.shape.extents[static_cast<std::size_t>(tensor.shape.dimensions - 1)]; });
}

TEST(validate, refuses_one_dimension_more) {
  expect_refused("a dimension more", [](Tensor& tensor) { tensor.shape.extents[static_cast<std::size_t>(tensor.shape.dimensions++)] = 1; });
}

TEST(validate, refuses_another_dtype) {
  expect_refused("another dtype", [](Tensor& tensor) { tensor.dtype = tensor.dtype == DType::fp32 ? DType::int32 : DType::fp32; });
}

TEST(validate, refuses_a_tensor_without_memory) {
  expect_refused("no memory", [](Tensor& tensor) { tensor.data = nullptr; });
}

TEST(validate, refuses_a_negative_extent) {
  Values values;
  auto op = std::get<SquaredNorm>(conformance::squared_norm(values, DType::fp32, kSome).op);
  op.input.shape = {-1};
  EXPECT_FALSE(validate(op));
}

TEST(validate, refuses_numbers_that_make_no_sense) {
  Values values;
  auto clip = std::get<ClipFactor>(conformance::clip_factor(values, DType::fp64, kSome).op);
  clip.maximum = 0;
  EXPECT_FALSE(validate(clip));
  auto adam = std::get<AdamUpdate>(conformance::adam_update(values, DType::fp32, kSome, false).op);
  adam.beta2 = 1;
  EXPECT_FALSE(validate(adam));
}

TEST(validate, needs_no_memory_for_no_samples) {
  Values values;
  auto op = std::get<LinearForward>(conformance::linear_forward(values, DType::fp32, {0, 3, 2}, Activation::none).op);
  op.input.data = op.output.data = nullptr;
  EXPECT_TRUE(validate(op));
}

}  // namespace
}  // namespace trainyard::compute
