// SPDX-License-Identifier: GPL-3.0-or-later
// Ops of transformers other than linear layers, on Compute: checks that their gradients are those
// of the loss.
#pragma once

#include "tests/conformance/compute_gradients.h"

namespace trainyard::conformance {

// linear, layer norm, gelu, linear, root-mean-square norm, softmax cross-entropy.
class RowNetwork {
 public:
  explicit RowNetwork(compute::Compute& device) : device_(device) {}

  double loss() {
    forward();
    run(device_, compute::SoftmaxCrossEntropy{logits_, labels_, {}, metrics_, 1.0 / kBatch});
    return element(metrics_, 0) / kBatch;
  }

  void backward() {
    forward();
    run(device_,
        compute::SoftmaxCrossEntropy{logits_, labels_, logits_gradient_, metrics_, 1.0 / kBatch});
    run(device_,
        compute::RowNormBackwardWeight{
            scores_, logits_gradient_, rms_.gradient, {}, {}, compute::RowNorm::root_mean_square});
    run(device_,
        compute::RowNormBackwardInput{scores_, logits_gradient_, rms_.value, scores_gradient_,
                                      compute::RowNorm::root_mean_square});
    run(device_, compute::LinearBackwardWeight{
                     active_, scores_gradient_, second_.gradient, second_bias_.gradient, {}});
    run(device_, compute::LinearBackwardInput{scores_gradient_, second_.value, active_gradient_});
    run(device_, compute::GeluBackward{normal_, active_gradient_, normal_gradient_});
    run(device_, compute::RowNormBackwardWeight{
                     hidden_, normal_gradient_, scale_.gradient, shift_.gradient, {}});
    run(device_,
        compute::RowNormBackwardInput{hidden_, normal_gradient_, scale_.value, hidden_gradient_});
    run(device_, compute::LinearBackwardWeight{
                     input_.value, hidden_gradient_, first_.gradient, first_bias_.gradient, {}});
    run(device_, compute::LinearBackwardInput{hidden_gradient_, first_.value, input_.gradient});
  }

  struct Variable {
    Tensor value, gradient;
  };
  std::vector<Variable> variables() const {
    return {input_, first_, first_bias_, scale_, shift_, second_, second_bias_, rms_};
  }

 private:
  static constexpr std::int64_t kBatch = 5, kInputs = 4, kHidden = 11, kClasses = 3;

  void forward() {
    run(device_, compute::LinearForward{input_.value, first_.value, first_bias_.value, hidden_});
    run(device_, compute::RowNormForward{hidden_, scale_.value, shift_.value, normal_});
    run(device_, compute::GeluForward{normal_, active_});
    run(device_, compute::LinearForward{active_, second_.value, second_bias_.value, scores_});
    run(device_, compute::RowNormForward{
                     scores_, rms_.value, {}, logits_, compute::RowNorm::root_mean_square});
  }
  Tensor hold(Shape shape) { return values_.zeros(DType::fp64, shape); }
  Variable variable(Shape shape, double low = -1) {
    return {values_.uniform(DType::fp64, shape, low, 1), hold(shape)};
  }

  compute::Compute& device_;
  Values values_{5};
  Variable input_ = variable({kBatch, kInputs}), first_ = variable({kHidden, kInputs}),
           first_bias_ = variable({kHidden});
  Variable scale_ = variable({kHidden}, 0.5), shift_ = variable({kHidden}),
           second_ = variable({kClasses, kHidden}), second_bias_ = variable({kClasses});
  Variable rms_ = variable({kClasses}, 0.5);
  Tensor hidden_ = hold({kBatch, kHidden}), normal_ = hold({kBatch, kHidden}),
         active_ = hold({kBatch, kHidden});
  Tensor scores_ = hold({kBatch, kClasses}), logits_ = hold({kBatch, kClasses});
  Tensor hidden_gradient_ = hold({kBatch, kHidden}), normal_gradient_ = hold({kBatch, kHidden}),
         active_gradient_ = hold({kBatch, kHidden});
  Tensor scores_gradient_ = hold({kBatch, kClasses}), logits_gradient_ = hold({kBatch, kClasses});
  Tensor labels_ = values_.labels(kBatch, kClasses), metrics_ = hold({2});
};

TEST_P(ComputeConformance, normalization_and_gelu_gradients_equal_finite_differences_of_the_loss) {
  RowNetwork network(*device_);
  expect_finite_differences(network);
}

// Several rows a sample, each with a label: linear, attention, linear, softmax cross-entropy. The
// loss of a sample is the mean over its rows.
class Sequences {
 public:
  explicit Sequences(compute::Compute& device) : device_(device) {}

  double loss() {
    forward();
    run(device_, compute::SoftmaxCrossEntropy{logits_, labels_, {}, metrics_, 1, kPart});
    return element(metrics_, 0) / kBatch;
  }

  void backward() {
    forward();
    run(device_, compute::SoftmaxCrossEntropy{logits_, labels_, logits_gradient_, metrics_,
                                              kPart / kBatch, kPart});
    run(device_,
        compute::LinearBackwardWeight{
            rows(together_), logits_gradient_, second_.gradient, second_bias_.gradient, {}});
    run(device_,
        compute::LinearBackwardInput{logits_gradient_, second_.value, rows(together_gradient_)});
    run(device_,
        compute::AttentionBackward{heads_, together_, together_gradient_, heads_gradient_, kHeads});
    run(device_,
        compute::LinearBackwardWeight{
            input_.value, rows(heads_gradient_), first_.gradient, first_bias_.gradient, {}});
    run(device_,
        compute::LinearBackwardInput{rows(heads_gradient_), first_.value, input_.gradient});
  }

  struct Variable {
    Tensor value, gradient;
  };
  std::vector<Variable> variables() const {
    return {input_, first_, first_bias_, second_, second_bias_};
  }

 private:
  static constexpr std::int64_t kBatch = 2, kRows = 6, kInputs = 3, kWidth = 4, kHeads = 2,
                                kClasses = 3;
  static constexpr double kPart = 1.0 / kRows;

  void forward() {
    run(device_,
        compute::LinearForward{input_.value, first_.value, first_bias_.value, rows(heads_)});
    run(device_, compute::AttentionForward{heads_, together_, kHeads});
    run(device_,
        compute::LinearForward{rows(together_), second_.value, second_bias_.value, logits_});
  }
  static Tensor rows(Tensor tensor) {
    return tensor.shape = {tensor.shape[0] * tensor.shape[1], tensor.shape[2]}, tensor;
  }
  Tensor hold(Shape shape) { return values_.zeros(DType::fp64, shape); }
  Variable variable(Shape shape) {
    return {values_.uniform(DType::fp64, shape, -1, 1), hold(shape)};
  }

  compute::Compute& device_;
  Values values_{5};
  Variable input_ = variable({kBatch * kRows, kInputs}), first_ = variable({3 * kWidth, kInputs}),
           first_bias_ = variable({3 * kWidth});
  Variable second_ = variable({kClasses, kWidth}), second_bias_ = variable({kClasses});
  Tensor heads_ = hold({kBatch, kRows, 3 * kWidth}), together_ = hold({kBatch, kRows, kWidth}),
         logits_ = hold({kBatch * kRows, kClasses});
  Tensor heads_gradient_ = hold({kBatch, kRows, 3 * kWidth}),
         together_gradient_ = hold({kBatch, kRows, kWidth});
  Tensor logits_gradient_ = hold({kBatch * kRows, kClasses}),
         labels_ = values_.labels(kBatch * kRows, kClasses), metrics_ = hold({2});
};

TEST_P(ComputeConformance, attention_gradients_equal_finite_differences_of_the_loss) {
  Sequences network(*device_);
  expect_finite_differences(network);
}

// A row attends to itself and to the rows before it.
TEST_P(ComputeConformance, attention_is_causal) {
  Values values(7);
  const Tensor input = values.uniform(DType::fp32, {1, 70, 12}),
               output = values.zeros(DType::fp32, {1, 70, 4}),
               after = values.zeros(DType::fp32, {1, 70, 4});
  run(*device_, compute::AttentionForward{input, output, 2});
  for (std::int64_t i = 66 * 12; i < input.elements(); ++i) set_element(input, i, 3);
  run(*device_, compute::AttentionForward{input, after, 2});
  for (std::int64_t i = 0; i < 66 * 4; ++i) EXPECT_EQ(element(after, i), element(output, i)) << i;
  EXPECT_NE(element(after, 66 * 4), element(output, 66 * 4));
}

}  // namespace trainyard::conformance
