// SPDX-License-Identifier: GPL-3.0-or-later
// A small convolutional network with a residual sum on Compute, and whether its gradients are those
// of its loss.
#pragma once

#include "tests/conformance/compute_gradients.h"

namespace trainyard::conformance {

// conv2d tanh, batch norm relu, conv2d, sum with the first relu, max pool, dropout, average pool,
// linear, softmax cross-entropy.
class ImageNetwork {
 public:
  explicit ImageNetwork(compute::Compute& device) : device_(device) {}

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
        compute::LinearBackwardWeight{
            flat(average_), logits_gradient_, gradient(linear_), gradient(linear_bias_), {}});
    run(device_,
        compute::LinearBackwardInput{logits_gradient_, linear_.value, flat(average_gradient_)});
    run(device_,
        compute::PoolBackward{
            {}, {}, average_gradient_, dropped_gradient_, {2, 1, 0}, compute::Pooling::average});
    run(device_,
        compute::Dropout{dropped_gradient_, pooled_gradient_, samples_, step_, 1, 2, kProbability});
    run(device_,
        compute::PoolBackward{
            sum_, pooled_, pooled_gradient_, sum_gradient_, {3, 2, 1}, compute::Pooling::maximum});
    run(device_, compute::ActivationBackward{sum_, sum_gradient_, compute::Activation::relu});
    run(device_, compute::Copy{sum_gradient_, first_gradient_});
    run(device_, compute::Conv2dBackwardWeight{normal_,
                                               sum_gradient_,
                                               gradient(second_weight_),
                                               gradient(second_bias_),
                                               {},
                                               {3, 1, 1}});
    run(device_, compute::Conv2dBackwardInput{
                     sum_gradient_, second_weight_.value, normal_gradient_, {3, 1, 1}});
    run(device_, compute::ActivationBackward{normal_, normal_gradient_, compute::Activation::relu});
    run(device_, compute::BatchNormBackwardWeight{first_,
                                                  normal_gradient_,
                                                  sums_,
                                                  gradient(scale_),
                                                  gradient(shift_),
                                                  gradient_sums_,
                                                  {}});
    run(device_, compute::BatchNormBackwardInput{first_, normal_gradient_, scale_.value, sums_,
                                                 gradient_sums_, partial_});
    run(device_, compute::Accumulate{partial_, first_gradient_});
    run(device_, compute::ActivationBackward{first_, first_gradient_, compute::Activation::tanh});
    run(device_, compute::Conv2dBackwardWeight{input_.value,
                                               first_gradient_,
                                               gradient(first_weight_),
                                               gradient(first_bias_),
                                               {},
                                               {3, 1, 1}});
    run(device_, compute::Conv2dBackwardInput{
                     first_gradient_, first_weight_.value, gradient(input_), {3, 1, 1}});
  }

  struct Variable {
    Tensor value, gradient;
  };
  std::vector<Variable> variables() const {
    return {input_,         first_weight_, first_bias_, scale_,      shift_,
            second_weight_, second_bias_,  linear_,     linear_bias_};
  }

 private:
  static constexpr std::int64_t kBatch = 3, kClasses = 3;
  static constexpr double kProbability = 0.4;

  void forward() {
    run(device_, compute::Conv2dForward{input_.value,
                                        first_weight_.value,
                                        first_bias_.value,
                                        first_,
                                        {3, 1, 1},
                                        compute::Activation::tanh});
    run(device_, compute::BatchNormSums{first_, sums_});
    run(device_, compute::BatchNormForward{first_,
                                           scale_.value,
                                           shift_.value,
                                           sums_,
                                           {},
                                           normal_,
                                           1e-5,
                                           0.1,
                                           compute::Activation::relu});
    run(device_, compute::Conv2dForward{normal_,
                                        second_weight_.value,
                                        second_bias_.value,
                                        second_,
                                        {3, 1, 1},
                                        compute::Activation::none});
    run(device_, compute::Add{first_, second_, sum_, compute::Activation::relu});
    run(device_, compute::PoolForward{sum_, pooled_, {3, 2, 1}, compute::Pooling::maximum});
    run(device_, compute::Dropout{pooled_, dropped_, samples_, step_, 1, 2, kProbability});
    run(device_, compute::PoolForward{dropped_, average_, {2, 1, 0}, compute::Pooling::average});
    run(device_, compute::LinearForward{flat(average_), linear_.value, linear_bias_.value, logits_,
                                        compute::Activation::none});
  }
  static Tensor flat(Tensor image) {
    image.shape = {image.shape[0], image.shape[1] * image.shape[2] * image.shape[3]};
    return image;
  }
  static const Tensor& gradient(const Variable& variable) { return variable.gradient; }
  Tensor hold(Shape shape) { return values_.zeros(DType::fp64, shape); }
  Variable variable(Shape shape, double low = -1) {
    return {values_.uniform(DType::fp64, shape, low, 1), hold(shape)};
  }

  compute::Compute& device_;
  Values values_{5};
  Variable input_ = variable({kBatch, 6, 5, 2}), first_weight_ = variable({4, 2, 3, 3}),
           first_bias_ = variable({4}), scale_ = variable({4}, 0.5);
  Variable shift_ = variable({4}), second_weight_ = variable({4, 4, 3, 3}),
           second_bias_ = variable({4}), linear_ = variable({kClasses, 16});
  Variable linear_bias_ = variable({kClasses});
  Tensor first_ = hold({kBatch, 6, 5, 4}), normal_ = hold({kBatch, 6, 5, 4}),
         second_ = hold({kBatch, 6, 5, 4}), sum_ = hold({kBatch, 6, 5, 4});
  Tensor pooled_ = hold({kBatch, 3, 3, 4}), dropped_ = hold({kBatch, 3, 3, 4}),
         average_ = hold({kBatch, 2, 2, 4}), logits_ = hold({kBatch, kClasses});
  Tensor first_gradient_ = hold({kBatch, 6, 5, 4}), normal_gradient_ = hold({kBatch, 6, 5, 4}),
         sum_gradient_ = hold({kBatch, 6, 5, 4});
  Tensor partial_ = hold({kBatch, 6, 5, 4}), pooled_gradient_ = hold({kBatch, 3, 3, 4}),
         dropped_gradient_ = hold({kBatch, 3, 3, 4});
  Tensor average_gradient_ = hold({kBatch, 2, 2, 4}), logits_gradient_ = hold({kBatch, kClasses}),
         sums_ = hold({9}), gradient_sums_ = hold({8});
  Tensor labels_ = values_.labels(kBatch, kClasses), samples_ = values_.labels(kBatch, 1000),
         step_ = values_.scalar(4), metrics_ = hold({2});
};

TEST_P(ComputeConformance, image_gradients_equal_finite_differences_of_the_loss) {
  ImageNetwork network(*device_);
  expect_finite_differences(network);
}

}  // namespace trainyard::conformance
