// SPDX-License-Identifier: GPL-3.0-or-later
// Requirements on every Compute for embedding bags.
#pragma once

#include "tests/conformance/compute_gradients.h"

namespace trainyard::conformance {

// Two slots and a dense column; samples of rows {2, 0}, {2, 2} and {0, 3}.
struct SmallBag {
  explicit SmallBag(DType of) : dtype(of) {
    const double numbers[] = {2, 0, 0.5, 2, 2, -1, 0, 3, 7},
                 gradients[] = {1, 2, 90, 10, 20, 91, 100, 200, 92};
    for (int i = 0; i < 9; ++i)
      set_element(input, i, numbers[i]), set_element(output_gradient, i, gradients[i]);
    for (int i = 0; i < 8; ++i)
      set_element(table, i, 10 * (i / 2) + i % 2);  // row r is {10 r, 10 r + 1}
  }
  void forward(compute::Compute& device) const {
    run(device, compute::EmbeddingBagForward{input, table, output, 2});
  }
  void backward(compute::Compute& device) const {
    run(device,
        compute::EmbeddingBagBackwardWeight{input, output_gradient, table_gradient, norm, 2});
  }
  void add(compute::Compute& device, const Tensor& to, const Tensor& sum) const {
    run(device, compute::AddBag{to, input, table, sum, 2});
  }

  DType dtype;
  Values values;
  Tensor input = values.zeros(dtype, {3, 3}), table = values.zeros(dtype, {4, 2}),
         output = values.uniform(dtype, {3, 3});
  Tensor output_gradient = values.zeros(dtype, {3, 3}),
         table_gradient = values.uniform(dtype, {4, 2}), norm = values.scalar(-1);
};

inline void expect_elements(const Tensor& tensor, std::initializer_list<double> expected) {
  std::int64_t i = 0;
  for (const double value : expected) {
    EXPECT_EQ(element(tensor, i), value) << i;
    ++i;
  }
}

TEST_P(ComputeConformance, embedding_bag_sums_rows_and_passes_the_other_columns) {
  for (const DType dtype : {DType::fp32, DType::fp64}) {
    const SmallBag bag(dtype);
    bag.forward(*device_);
    expect_elements(bag.output, {20, 22, 0.5, 40, 42, -1, 30, 32, 7});
  }
}

// Bag of the same rows; the dense column does not take part.
TEST_P(ComputeConformance, add_bag_adds_to_its_input) {
  for (const DType dtype : {DType::fp32, DType::fp64}) {
    const SmallBag bag(dtype);
    Values values;
    const Tensor logits = values.zeros(dtype, {3, 2}), sum = values.uniform(dtype, {3, 2});
    for (int i = 0; i < 6; ++i) set_element(logits, i, 1000 * (i + 1));
    bag.add(*device_, logits, sum);
    expect_elements(sum, {1020, 2022, 3040, 4042, 5030, 6032});
    expect_elements(logits, {1000, 2000, 3000, 4000, 5000, 6000});
  }
}

// The gradients have no further columns.
TEST_P(ComputeConformance, add_bag_gradient_of_a_row_sums_over_all_samples_with_it) {
  for (const DType dtype : {DType::fp32, DType::fp64}) {
    const SmallBag bag(dtype);
    Values values;
    const Tensor gradient = values.zeros(dtype, {3, 2});
    const double gradients[] = {1, 2, 10, 20, 100, 200};
    for (int i = 0; i < 6; ++i) set_element(gradient, i, gradients[i]);
    run(*device_,
        compute::EmbeddingBagBackwardWeight{bag.input, gradient, bag.table_gradient, bag.norm, 2});
    expect_elements(bag.table_gradient, {101, 202, 0, 0, 21, 42, 100, 200});
  }
}

// Row 2 is in the first sample once and in the second twice; row 1 in none. The dense columns have
// no part in it.
TEST_P(ComputeConformance, embedding_bag_gradient_of_a_row_sums_over_all_samples_with_it) {
  for (const DType dtype : {DType::fp32, DType::fp64}) {
    const SmallBag bag(dtype);
    bag.backward(*device_);
    expect_elements(bag.table_gradient, {101, 202, 0, 0, 21, 42, 100, 200});
    EXPECT_EQ(element(bag.norm, 0),
              101 * 101 + 202 * 202 + 21 * 21 + 42 * 42 + 100 * 100 + 200 * 200);
  }
}

TEST_P(ComputeConformance, embedding_bag_table_gradient_is_zero_without_samples) {
  Values values;
  for (const bool added : {false, true}) {
    const Case made = embedding_bag_backward_weight(values, DType::fp32, {0, 6, 4}, added);
    run(*device_, made.op);
    for (const auto& [name, result] : made.results)
      for (std::int64_t i = 0; i < result.elements(); ++i) EXPECT_EQ(element(result, i), 0) << name;
  }
}

// NaN shows immediately that a run diverged, and no memory outside the table is accessed.
TEST_P(ComputeConformance, embedding_bag_with_an_invalid_index_is_nan_and_changes_no_gradient) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::fp32, DType::fp64})
    for (const double number :
         {-1.0, 4.0, 0.5, 1e30, -infinite, infinite, std::numeric_limits<double>::quiet_NaN()}) {
      const SmallBag bag(dtype);
      set_element(bag.input, 4, number);
      bag.forward(*device_);
      EXPECT_TRUE(std::isnan(element(bag.output, 3)) && std::isnan(element(bag.output, 4)))
          << number;
      EXPECT_EQ(element(bag.output, 5), -1);
      EXPECT_EQ(element(bag.output, 0), 20) << "other samples are as they were";
      EXPECT_EQ(element(bag.output, 6), 30);
      bag.backward(*device_);
      expect_elements(bag.table_gradient, {101, 202, 0, 0, 11, 22, 100, 200});
      Values values;
      const Tensor logits = values.zeros(dtype, {3, 2});
      bag.add(*device_, logits, logits);
      EXPECT_TRUE(std::isnan(element(logits, 2)) && std::isnan(element(logits, 3))) << number;
      EXPECT_EQ(element(logits, 0), 20);
      EXPECT_EQ(element(logits, 4), 30);
    }
}

// Every row as a column of how often a sample has it: then the table is a weight, transposed.
TEST_P(ComputeConformance, embedding_bag_equals_a_linear_layer_over_row_counts) {
  constexpr std::int64_t kBatch = 21, kSlots = 6, kRows = 9, kWidth = 5;
  Values values;
  const Tensor input = bag_input(values, DType::fp64, kBatch, kSlots, kSlots, kRows),
               table = values.uniform(DType::fp64, {kRows, kWidth});
  const Tensor counts = values.zeros(DType::fp64, {kBatch, kRows}),
               weight = values.zeros(DType::fp64, {kWidth, kRows});
  for (std::int64_t i = 0; i < kBatch * kSlots; ++i) {
    const std::int64_t at = i / kSlots * kRows + static_cast<std::int64_t>(element(input, i));
    set_element(counts, at, element(counts, at) + 1);
  }
  for (std::int64_t i = 0; i < kRows * kWidth; ++i)
    set_element(weight, i % kWidth * kRows + i / kWidth, element(table, i));
  const Tensor sums = values.zeros(DType::fp64, {kBatch, kWidth}),
               products = values.zeros(DType::fp64, {kBatch, kWidth});
  run(*device_, compute::EmbeddingBagForward{input, table, sums, kSlots});
  run(*device_, compute::LinearForward{counts, weight, {}, products});
  expect_near(sums, products, 1e-12, "output");

  const Tensor gradient = values.uniform(DType::fp64, {kBatch, kWidth}),
               of_table = values.zeros(DType::fp64, {kRows, kWidth});
  const Tensor of_weight = values.zeros(DType::fp64, {kWidth, kRows}),
               transposed = values.zeros(DType::fp64, {kRows, kWidth});
  run(*device_, compute::EmbeddingBagBackwardWeight{input, gradient, of_table, {}, kSlots});
  run(*device_, compute::LinearBackwardWeight{
                    counts, gradient, of_weight, values.zeros(DType::fp64, {kWidth}), {}});
  for (std::int64_t i = 0; i < kRows * kWidth; ++i)
    set_element(transposed, i, element(of_weight, i % kWidth * kRows + i / kWidth));
  expect_near(of_table, transposed, 1e-12, "table_gradient");
}

// Beside dense columns, under a linear layer, to which another bag of the same rows is added: a
// small wide and deep network. Softmax cross-entropy.
class BagNetwork {
 public:
  explicit BagNetwork(compute::Compute& device) : device_(device) {}

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
        compute::EmbeddingBagBackwardWeight{input_, logits_gradient_, wide_gradient_, {}, kSlots});
    run(device_, compute::LinearBackwardWeight{
                     bag_, logits_gradient_, weight_gradient_, bias_gradient_, {}});
    run(device_, compute::LinearBackwardInput{logits_gradient_, weight_, bag_gradient_});
    run(device_,
        compute::EmbeddingBagBackwardWeight{input_, bag_gradient_, table_gradient_, {}, kSlots});
  }

  std::vector<std::pair<Tensor, Tensor>> variables() const {
    return {{table_, table_gradient_},
            {weight_, weight_gradient_},
            {bias_, bias_gradient_},
            {wide_, wide_gradient_}};
  }

 private:
  static constexpr std::int64_t kBatch = 7, kSlots = 3, kDense = 2, kRows = 6, kWidth = 4,
                                kClasses = 3, kBag = kWidth + kDense;

  void forward() {
    run(device_, compute::EmbeddingBagForward{input_, table_, bag_, kSlots});
    run(device_, compute::LinearForward{bag_, weight_, bias_, deep_});
    run(device_, compute::AddBag{deep_, input_, wide_, logits_, kSlots});
  }
  Tensor draw(Shape shape) { return values_.uniform(DType::fp64, shape); }
  Tensor hold(Shape shape) { return values_.zeros(DType::fp64, shape); }

  compute::Compute& device_;
  Values values_{5};
  Tensor input_ = bag_input(values_, DType::fp64, kBatch, kSlots + kDense, kSlots, kRows),
         table_ = draw({kRows, kWidth});
  Tensor weight_ = draw({kClasses, kBag}), bias_ = draw({kClasses}), bag_ = hold({kBatch, kBag});
  Tensor wide_ = draw({kRows, kClasses}), wide_gradient_ = hold({kRows, kClasses}),
         deep_ = hold({kBatch, kClasses}), logits_ = hold({kBatch, kClasses});
  Tensor table_gradient_ = hold({kRows, kWidth}), weight_gradient_ = hold({kClasses, kBag}),
         bias_gradient_ = hold({kClasses});
  Tensor bag_gradient_ = hold({kBatch, kBag}), logits_gradient_ = hold({kBatch, kClasses});
  Tensor labels_ = values_.labels(kBatch, kClasses), metrics_ = hold({2});
};

TEST_P(ComputeConformance, embedding_bag_gradients_equal_finite_differences_of_the_loss) {
  BagNetwork network(*device_);
  expect_finite_differences(network);
}

}  // namespace trainyard::conformance
