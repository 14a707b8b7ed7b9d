// SPDX-License-Identifier: GPL-3.0-or-later
// A small network on Compute, and whether its gradients are those of its loss: central differences
// in fp64.
#pragma once

#include "tests/conformance/compute_conformance.h"

namespace trainyard::conformance {

// linear, activation, linear, softmax cross-entropy; the loss is the mean over the batch.
class SmallNetwork {
 public:
  SmallNetwork(compute::Compute& device, compute::Activation activation)
      : device_(device), activation_(activation) {}

  double loss() {
    forward();
    run(device_, compute::SoftmaxCrossEntropy{logits_, labels_, {}, metrics_, 1.0 / kBatch});
    return element(metrics_, 0) / kBatch;
  }

  void backward() {
    forward();
    run(device_,
        compute::SoftmaxCrossEntropy{logits_, labels_, logits_gradient_, metrics_, 1.0 / kBatch});
    run(device_, compute::LinearBackwardWeight{
                     hidden_, logits_gradient_, weight_gradient_[1], bias_gradient_[1], {}});
    run(device_, compute::LinearBackwardInput{logits_gradient_, weight_[1], hidden_gradient_});
    run(device_, compute::ActivationBackward{hidden_, hidden_gradient_, activation_});
    run(device_, compute::LinearBackwardWeight{
                     input_, hidden_gradient_, weight_gradient_[0], bias_gradient_[0], {}});
    run(device_, compute::LinearBackwardInput{hidden_gradient_, weight_[0], input_gradient_});
  }

  // Variables of the loss, each with its gradient.
  std::vector<std::pair<Tensor, Tensor>> variables() const {
    return {{weight_[0], weight_gradient_[0]},
            {bias_[0], bias_gradient_[0]},
            {weight_[1], weight_gradient_[1]},
            {bias_[1], bias_gradient_[1]},
            {input_, input_gradient_}};
  }

 private:
  static constexpr std::int64_t kBatch = 6, kInputs = 5, kHidden = 9, kClasses = 4;

  void forward() {
    run(device_, compute::LinearForward{input_, weight_[0], bias_[0], hidden_, activation_});
    run(device_,
        compute::LinearForward{hidden_, weight_[1], bias_[1], logits_, compute::Activation::none});
  }
  Tensor draw(Shape shape) { return values_.uniform(DType::fp64, shape); }
  Tensor hold(Shape shape) { return values_.zeros(DType::fp64, shape); }

  compute::Compute& device_;
  compute::Activation activation_;
  Values values_{5};
  Tensor input_ = draw({kBatch, kInputs}), hidden_ = hold({kBatch, kHidden}),
         logits_ = hold({kBatch, kClasses});
  Tensor weight_[2] = {draw({kHidden, kInputs}), draw({kClasses, kHidden})},
         bias_[2] = {draw({kHidden}), draw({kClasses})};
  Tensor labels_ = values_.labels(kBatch, kClasses), metrics_ = hold({2});
  Tensor input_gradient_ = hold({kBatch, kInputs}), hidden_gradient_ = hold({kBatch, kHidden}),
         logits_gradient_ = hold({kBatch, kClasses});
  Tensor weight_gradient_[2] = {hold({kHidden, kInputs}), hold({kClasses, kHidden})},
         bias_gradient_[2] = {hold({kHidden}), hold({kClasses})};
};

// Checks gradients by finite differences. The network has variables(), each with its gradient,
// loss() and backward().
template <class Network>
void expect_finite_differences(Network& network) {
  network.backward();
  for (const auto& [variable, gradient] : network.variables())
    for (std::int64_t i = 0; i < variable.elements(); ++i) {
      const double value = element(variable, i), step = 1e-6;
      set_element(variable, i, value + step);
      const double above = network.loss();
      set_element(variable, i, value - step);
      const double below = network.loss();
      set_element(variable, i, value);
      EXPECT_NEAR(element(gradient, i), (above - below) / (2 * step), 1e-8);
    }
}

TEST_P(ComputeConformance, gradients_equal_finite_differences_of_the_loss) {
  for (const auto activation :
       {compute::Activation::none, compute::Activation::relu, compute::Activation::tanh}) {
    SmallNetwork network(*device_, activation);
    expect_finite_differences(network);
  }
}

}  // namespace trainyard::conformance
