// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/validate.h"

#include <gmock/gmock.h>

#include "tests/conformance/compute_cases.h"
#include "tests/problem_matchers.h"

namespace trainyard::compute {
namespace {

using conformance::Case;
using conformance::Values;

constexpr conformance::Sizes kSome = {4, 3, 2};

TEST(validate, accepts_every_valid_op) {
  for (const auto& named : conformance::all_cases())
    for (const auto& sizes : conformance::kSizes) {
      Values values;
      const auto fits = validate(named.make(values, DType::fp64, sizes).op);
      EXPECT_TRUE(fits) << named.name << ": " << base::to_string(fits.error());
    }
}

TEST(validate, accepts_every_valid_op_on_images) {
  for (const auto& named : conformance::image_cases())
    for (const auto& sizes : conformance::kImages) {
      Values values;
      const auto fits = validate(named.make(values, DType::fp32, sizes).op);
      EXPECT_TRUE(fits) << named.name << ": " << base::to_string(fits.error());
    }
}

// Breaks each tensor of an op in turn, by `breaks`; all must be refused.
void expect_refused(const char* what, const std::function<void(Tensor&)>& breaks) {
  using conformance::sgd_update, conformance::softmax_cross_entropy,
      conformance::linear_backward_weight, conformance::adam_update;
  Values values;
  const auto refused = [&](Op op, const char* tensor) {
    const auto fits = validate(op);
    EXPECT_FALSE(fits) << what << " in " << name(op) << "." << tensor;
    if (!fits) {
      EXPECT_EQ(fits.error().where, name(op));
    }
  };
  const auto forward = std::get<LinearForward>(
      conformance::linear_forward(values, DType::fp32, kSome, Activation::none).op);
  for (const auto part : {&LinearForward::input, &LinearForward::weight, &LinearForward::bias,
                          &LinearForward::output}) {
    auto op = forward;
    breaks(op.*part);
    refused(op, "one of four");
  }
  const auto weight =
      std::get<LinearBackwardWeight>(linear_backward_weight(values, DType::fp32, kSome).op);
  for (const auto part :
       {&LinearBackwardWeight::input, &LinearBackwardWeight::output_gradient,
        &LinearBackwardWeight::weight_gradient, &LinearBackwardWeight::bias_gradient}) {
    auto op = weight;
    breaks(op.*part);
    refused(op, "one of four");
  }
  const auto loss =
      std::get<SoftmaxCrossEntropy>(softmax_cross_entropy(values, DType::fp32, kSome, true).op);
  for (const auto part : {&SoftmaxCrossEntropy::logits, &SoftmaxCrossEntropy::labels,
                          &SoftmaxCrossEntropy::metrics}) {
    auto op = loss;
    breaks(op.*part);
    refused(op, "one of three");
  }
  const auto bag = std::get<EmbeddingBagForward>(
      conformance::embedding_bag_forward(values, DType::fp32, kSome).op);
  for (const auto part :
       {&EmbeddingBagForward::input, &EmbeddingBagForward::table, &EmbeddingBagForward::output}) {
    auto op = bag;
    breaks(op.*part);
    refused(op, "one of three");
  }
  const auto added = std::get<AddBag>(conformance::add_bag(values, DType::fp32, kSome).op);
  for (const auto part : {&AddBag::input, &AddBag::table, &AddBag::output}) {
    auto op = added;
    breaks(op.*part);
    refused(op, "one of three");
  }
  const conformance::ImageSizes image{2, 6, 5, 3, 4, {3, 1, 1}};
  const auto convolution = std::get<Conv2dBackwardWeight>(
      conformance::conv2d_backward_weight(values, DType::fp32, image).op);
  for (const auto part :
       {&Conv2dBackwardWeight::input, &Conv2dBackwardWeight::output_gradient,
        &Conv2dBackwardWeight::weight_gradient, &Conv2dBackwardWeight::bias_gradient}) {
    auto op = convolution;
    breaks(op.*part);
    refused(op, "one of four");
  }
  const auto pool = std::get<PoolBackward>(
      conformance::pool_backward(values, DType::fp32, image, Pooling::maximum).op);
  for (const auto part : {&PoolBackward::input, &PoolBackward::output,
                          &PoolBackward::output_gradient, &PoolBackward::input_gradient}) {
    auto op = pool;
    breaks(op.*part);
    refused(op, "one of four");
  }
  const auto normal = std::get<BatchNormForward>(
      conformance::batch_norm_forward(values, DType::fp32, {4, 3}, Activation::none).op);
  for (const auto part :
       {&BatchNormForward::input, &BatchNormForward::weight, &BatchNormForward::bias,
        &BatchNormForward::sums, &BatchNormForward::output}) {
    auto op = normal;
    breaks(op.*part);
    refused(op, "one of five");
  }
  const auto back = std::get<BatchNormBackwardInput>(
      conformance::batch_norm_backward_input(values, DType::fp32, {4, 3}).op);
  for (const auto part :
       {&BatchNormBackwardInput::input, &BatchNormBackwardInput::output_gradient,
        &BatchNormBackwardInput::weight, &BatchNormBackwardInput::sums,
        &BatchNormBackwardInput::gradient_sums, &BatchNormBackwardInput::input_gradient}) {
    auto op = back;
    breaks(op.*part);
    refused(op, "one of six");
  }
  const auto dropped = std::get<Dropout>(conformance::dropout(values, DType::fp32, {4, 3}).op);
  for (const auto part : {&Dropout::input, &Dropout::output, &Dropout::samples, &Dropout::step}) {
    auto op = dropped;
    breaks(op.*part);
    refused(op, "one of four");
  }
  const auto adam = std::get<AdamUpdate>(adam_update(values, DType::fp32, kSome, false).op);
  for (const auto part :
       {&AdamUpdate::first_moment, &AdamUpdate::second_moment, &AdamUpdate::step}) {
    auto op = adam;
    breaks(op.*part);
    refused(op, "one of three");
  }
  for (const auto part :
       {&UpdateInputs::parameters, &UpdateInputs::gradient, &UpdateInputs::learning_rate,
        &UpdateInputs::statistics, &UpdateInputs::updated}) {
    auto op = std::get<SgdUpdate>(
        conformance::elsewhere(values, sgd_update(values, DType::fp32, kSome, 0.9)).op);
    breaks(op.common.*part);
    refused(op, "one of five");
  }
}

TEST(validate, refuses_a_longer_extent) {
  expect_refused("a longer shape", [](Tensor& tensor) {
    ++tensor.shape.extents[static_cast<std::size_t>(tensor.shape.dimensions - 1)];
  });
}

TEST(validate, refuses_an_additional_dimension) {
  expect_refused("a dimension more", [](Tensor& tensor) {
    if (tensor.shape.dimensions == 4)
      tensor.shape = {tensor.elements()};  // one more than four cannot be said
    else tensor.shape.extents[static_cast<std::size_t>(tensor.shape.dimensions++)] = 1;
  });
}

TEST(validate, refuses_another_dtype) {
  expect_refused("another dtype", [](Tensor& tensor) {
    tensor.dtype = tensor.dtype == DType::fp32 ? DType::int32 : DType::fp32;
  });
}

TEST(validate, refuses_bfloat16_of_fp64) {
  Values values;
  for (const auto& named : conformance::all_cases())
    for (const DType dtype : {DType::fp32, DType::fp64}) {
      Op op = named.make(values, dtype, {3, 4, 5}).op;
      const bool multiplies = std::visit(
          [](auto& one) {
            if constexpr (requires { one.multiplies; })
              return one.multiplies = Multiplies::bfloat16, true;
            return false;
          },
          op);
      EXPECT_EQ(validate(op).has_value(), !multiplies || dtype == DType::fp32) << named.name;
    }
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

TEST(validate, refuses_invalid_numbers) {
  Values values;
  auto clip = std::get<ClipFactor>(conformance::clip_factor(values, DType::fp64, kSome).op);
  clip.maximum = 0;
  EXPECT_FALSE(validate(clip));
  clip.maximum = 1, clip.loss_scale = values.scalar(8);
  EXPECT_TRUE(validate(clip));
  clip.loss_scale.dtype = DType::fp32;
  EXPECT_FALSE(validate(clip));
  auto adam = std::get<AdamUpdate>(conformance::adam_update(values, DType::fp32, kSome, false).op);
  adam.beta2 = 1;
  EXPECT_FALSE(validate(adam));
  auto dropped = std::get<Dropout>(conformance::dropout(values, DType::fp32, {4, 3}).op);
  dropped.probability = 1;
  EXPECT_FALSE(validate(dropped));
  auto bag = std::get<EmbeddingBagForward>(
      conformance::embedding_bag_forward(values, DType::fp32, kSome).op);
  auto added = std::get<AddBag>(conformance::add_bag(values, DType::fp32, kSome).op);
  for (const std::int64_t slots : {0, 4}) {
    bag.slot_count = added.slot_count = slots;
    EXPECT_FALSE(validate(bag)) << slots;
    EXPECT_FALSE(validate(added)) << slots;
  }
}

// Whatever further columns samples have, an added bag takes no part in them.
TEST(validate, accepts_wider_samples_only_for_an_added_bag) {
  Values values;
  const auto bag = std::get<AddBag>(conformance::add_bag(values, DType::fp32, kSome).op);
  const auto with = [&](const Tensor& samples) {
    AddBag op = bag;
    op.samples = samples;
    return validate(op).has_value();
  };
  const std::int64_t batch = kSome.batch, inputs = kSome.inputs;
  EXPECT_TRUE(with(values.zeros(DType::fp32, {batch, inputs + 1})));
  EXPECT_FALSE(with(values.zeros(DType::fp32, {batch, bag.slot_count - 1})));
  EXPECT_FALSE(with(values.zeros(DType::fp32, {batch + 1, inputs})));
  EXPECT_FALSE(with(values.zeros(DType::fp32, {batch * inputs})));
  EXPECT_FALSE(with(values.zeros(DType::fp64, {batch, inputs})));
  EXPECT_FALSE(with({DType::fp32, {batch, inputs}, nullptr}));
}

// The number of rows that the type of the samples can represent.
TEST(validate, refuses_an_fp32_table_with_more_rows_than_fp32_can_number) {
  Values values;
  for (const DType dtype : {DType::fp32, DType::fp64}) {
    auto bag =
        std::get<EmbeddingBagForward>(conformance::embedding_bag_forward(values, dtype, kSome).op);
    bag.table.shape = {1 << 24, 2};
    EXPECT_TRUE(validate(bag));
    bag.table.shape = {(1 << 24) + 1, 2};
    EXPECT_EQ(validate(bag).has_value(), dtype == DType::fp64);
  }
}

TEST(validate, refuses_new_parameters_that_partially_overlap_the_old_ones) {
  Values values;
  const Tensor around = values.zeros(DType::fp32, {24});
  for (Case made : {conformance::sgd_update(values, DType::fp32, kSome, 0),
                    conformance::adam_update(values, DType::fp32, kSome, false)})
    for (const std::int64_t distance :
         {-32, -31, -4, 0, 4, 31, 32}) {  // bytes, from parameters of 32
      UpdateInputs& common = conformance::common_of(made.op);
      common.parameters.data = around.data + 32;
      common.updated = common.parameters;
      common.updated.data += distance;
      const auto fits = validate(made.op);
      EXPECT_EQ(fits.has_value(), distance % 32 == 0) << distance;
      if (!fits) {
        EXPECT_THAT(fits.error(),
                    testing::AllOf(base::IsProblem("bad_op"), base::Reports("updated"),
                                   base::Reports(std::to_string(distance) + " bytes")));
      }
    }
}

TEST(validate, refuses_a_window_larger_than_the_image) {
  for (const Window& window :
       {Window{0, 1, 0}, Window{3, 0, 1}, Window{3, 1, -1}, Window{6, 1, 0}, Window{3, 1, 2}}) {
    Values values;
    auto pool = std::get<PoolForward>(
        conformance::pool_forward(values, DType::fp32, {2, 5, 5, 3, 4, {3, 1, 1}}, Pooling::maximum)
            .op);
    pool.window = window;
    const auto fits = validate(pool);
    ASSERT_FALSE(fits) << window.kernel << " " << window.stride << " " << window.padding;
    EXPECT_EQ(fits.error().where, "pool_forward");
  }
}

TEST(validate, needs_no_memory_for_zero_samples) {
  Values values;
  auto op = std::get<LinearForward>(
      conformance::linear_forward(values, DType::fp32, {0, 3, 2}, Activation::none).op);
  op.input.data = op.output.data = nullptr;
  EXPECT_TRUE(validate(op));
}

}  // namespace
}  // namespace trainyard::compute
