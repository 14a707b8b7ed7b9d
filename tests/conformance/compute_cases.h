// SPDX-License-Identifier: GPL-3.0-or-later
// Every op on made-up tensors.
#pragma once

#include "core/compute/ops.h"
#include "tests/conformance/compute_image_cases.h"

namespace trainyard::conformance {

// Odd, tiny, empty, and around the widths of vectors and blocks.
inline const std::vector<Sizes> kSizes = {
    {1, 1, 1},    {0, 7, 5},   {0, 1, 1},     {1, 784, 10},  {2, 3, 1},      {3, 1, 4},
    {5, 8, 8},    {7, 17, 33}, {16, 64, 64},  {31, 63, 65},  {33, 5, 100},   {64, 1, 31},
    {65, 257, 3}, {100, 9, 1}, {127, 31, 47}, {128, 96, 80}, {129, 130, 131}};

inline Case linear_forward(Values& values, DType dtype, const Sizes& s,
                           compute::Activation activation) {
  const Tensor output = values.uniform(dtype, {s.batch, s.outputs});
  return {compute::LinearForward{values.uniform(dtype, {s.batch, s.inputs}),
                                 values.uniform(dtype, {s.outputs, s.inputs}),
                                 values.uniform(dtype, {s.outputs}), output, activation},
          {{"output", output}}};
}

inline Case linear_forward_without_bias(Values& values, DType dtype, const Sizes& s) {
  const Tensor output = values.uniform(dtype, {s.batch, s.outputs});
  return {compute::LinearForward{values.uniform(dtype, {s.batch, s.inputs}),
                                 values.uniform(dtype, {s.outputs, s.inputs}),
                                 {},
                                 output},
          {{"output", output}}};
}

inline Case add_bias(Values& values, DType dtype, const Sizes& s, compute::Activation activation) {
  const Tensor output = values.uniform(dtype, {s.batch, s.outputs});
  return {compute::AddBias{values.uniform(dtype, {s.batch, s.outputs}),
                           values.uniform(dtype, {s.outputs}), output, activation},
          {{"output", output}}};
}

inline Case sum_rows(Values& values, DType dtype, const Sizes& s) {
  const Tensor output = values.uniform(dtype, {s.outputs});
  return {compute::SumRows{values.uniform(dtype, {s.batch, s.outputs}), output},
          {{"output", output}}};
}

// Some columns in the midst, to other places; what is beside them stays.
inline Case copy_columns(Values& values, DType dtype, const Sizes& s) {
  const Tensor output = values.uniform(dtype, {s.batch, s.outputs + 2});
  const std::int64_t columns = (s.outputs + 1) / 2;
  return {compute::CopyColumns{values.uniform(dtype, {s.batch, s.outputs}), output,
                               s.outputs - columns, 1, columns},
          {{"output", output}}};
}

inline Case activation_backward(Values& values, DType dtype, const Sizes& s,
                                compute::Activation activation) {
  const Tensor gradient = values.uniform(dtype, {s.batch, s.outputs});
  return {compute::ActivationBackward{values.uniform(dtype, {s.batch, s.outputs}), gradient,
                                      activation},
          {{"gradient", gradient}}};
}

inline Case linear_backward_input(Values& values, DType dtype, const Sizes& s) {
  const Tensor result = values.uniform(dtype, {s.batch, s.inputs});
  return {compute::LinearBackwardInput{values.uniform(dtype, {s.batch, s.outputs}),
                                       values.uniform(dtype, {s.outputs, s.inputs}), result},
          {{"input_gradient", result}}};
}

inline Case linear_backward_weight(Values& values, DType dtype, const Sizes& s) {
  const Tensor weight = values.uniform(dtype, {s.outputs, s.inputs}),
               bias = values.uniform(dtype, {s.outputs}), norm = values.scalar(-1);
  return {compute::LinearBackwardWeight{values.uniform(dtype, {s.batch, s.inputs}),
                                        values.uniform(dtype, {s.batch, s.outputs}), weight, bias,
                                        norm},
          {{"weight_gradient", weight}, {"bias_gradient", bias}, {"squared_norm", norm}}};
}

// Samples of a bag: `slots` numbers of rows, then others.
inline Tensor bag_input(Values& values, DType dtype, std::int64_t batch, std::int64_t inputs,
                        std::int64_t slots, std::int64_t rows) {
  const Tensor input = values.uniform(dtype, {batch, inputs}),
               numbers = values.labels(batch * slots, rows);
  for (std::int64_t i = 0; i < batch * slots; ++i)
    set_element(input, i / slots * inputs + i % slots, element(numbers, i));
  return input;
}

// Half of the columns are numbers of rows; of those some come often, and some never.
inline std::int64_t slots_of(const Sizes& s) { return (s.inputs + 1) / 2; }
inline std::int64_t rows_of(const Sizes& s) { return s.inputs + 2; }
inline std::int64_t bag_outputs(const Sizes& s) { return s.outputs + s.inputs - slots_of(s); }

inline Case embedding_bag_forward(Values& values, DType dtype, const Sizes& s) {
  const Tensor output = values.uniform(dtype, {s.batch, bag_outputs(s)});
  return {compute::EmbeddingBagForward{
              bag_input(values, dtype, s.batch, s.inputs, slots_of(s), rows_of(s)),
              values.uniform(dtype, {rows_of(s), s.outputs}), output, slots_of(s)},
          {{"output", output}}};
}

inline Case add_bag(Values& values, DType dtype, const Sizes& s) {
  const Tensor output = values.uniform(dtype, {s.batch, s.outputs});
  return {compute::AddBag{values.uniform(dtype, {s.batch, s.outputs}),
                          bag_input(values, dtype, s.batch, s.inputs, slots_of(s), rows_of(s)),
                          values.uniform(dtype, {rows_of(s), s.outputs}), output, slots_of(s)},
          {{"output", output}}};
}

// Case of a bag that passes columns on, or of one whose rows are added.
inline Case embedding_bag_backward_weight(Values& values, DType dtype, const Sizes& s, bool added) {
  const Tensor table = values.uniform(dtype, {rows_of(s), s.outputs}), norm = values.scalar(-1);
  return {compute::EmbeddingBagBackwardWeight{
              bag_input(values, dtype, s.batch, s.inputs, slots_of(s), rows_of(s)),
              values.uniform(dtype, {s.batch, added ? s.outputs : bag_outputs(s)}), table, norm,
              slots_of(s)},
          {{"table_gradient", table}, {"squared_norm", norm}}};
}

// Case of a shard of a table: rows from the third on, of a table with five more rows.
inline Case embedding_part_forward(Values& values, DType dtype, const Sizes& s) {
  Case made = embedding_bag_forward(values, dtype, s);
  auto& op = std::get<compute::EmbeddingBagForward>(made.op);
  op.input = bag_input(values, dtype, s.batch, s.inputs, slots_of(s), rows_of(s) + 5);
  op.first_row = 2, op.all_rows = rows_of(s) + 5;
  return made;
}

inline Case embedding_part_backward_weight(Values& values, DType dtype, const Sizes& s) {
  Case made = embedding_bag_backward_weight(values, dtype, s, true);
  auto& op = std::get<compute::EmbeddingBagBackwardWeight>(made.op);
  op.input = bag_input(values, dtype, s.batch, s.inputs, slots_of(s), rows_of(s) + 5);
  op.first_row = 2, op.all_rows = rows_of(s) + 5;
  return made;
}

// Case of a shard of the classes, from the third on.
inline Case softmax_summary(Values& values, DType dtype, const Sizes& s) {
  const Tensor summary = values.uniform(DType::fp64, {4, s.batch}),
               labels = values.labels(s.batch, s.outputs);
  for (std::int64_t b = 0; b < s.batch; ++b) set_element(labels, b, element(labels, b) + 2);
  return {compute::SoftmaxSummary{values.uniform(dtype, {s.batch, s.outputs}, -20, 20), labels,
                                  summary, 2, s.outputs + 4},
          {{"summary", summary}}};
}

// Summaries of two shards: the largest logit of each row and its class, a sum of exponentials, and
// the label's logit of one shard or of none.
inline Case softmax_part(Values& values, DType dtype, const Sizes& s) {
  const Tensor metrics = values.uniform(DType::fp64, {2}),
               gradient = values.uniform(dtype, {s.batch, s.outputs});
  const Tensor summaries = values.uniform(DType::fp64, {2, 4, s.batch}, 20, 30),
               labels = values.labels(s.batch, s.outputs + 4);
  for (std::int64_t b = 0; b < s.batch; ++b)
    set_element(summaries, (b % 2 * 4 + 3) * s.batch + b, -std::numeric_limits<double>::infinity());
  return {compute::SoftmaxCrossEntropyPart{values.uniform(dtype, {s.batch, s.outputs}, -20, 20),
                                           labels, summaries, gradient, metrics, 2, 0.25, 0.5},
          {{"gradient", gradient}, {"metrics", metrics}}};
}

inline Case softmax_cross_entropy(Values& values, DType dtype, const Sizes& s, bool with_gradient) {
  const Tensor metrics = values.uniform(DType::fp64, {2});
  const Tensor gradient = with_gradient ? values.uniform(dtype, {s.batch, s.outputs}) : Tensor{};
  Case made{
      compute::SoftmaxCrossEntropy{values.uniform(dtype, {s.batch, s.outputs}, -20, 20),
                                   values.labels(s.batch, s.outputs), gradient, metrics, 0.25, 0.5},
      {{"metrics", metrics}}};
  if (with_gradient) made.results.emplace_back("gradient", gradient);
  return made;
}

// The loss is also scaled by the value that the loss scale has when the op runs.
template <class Make>
auto by_loss_scale(const Make& make) {
  return [make](Values& values, DType dtype, const Sizes& sizes) {
    Case made = make(values, dtype, sizes);
    std::visit(
        [&](auto& op) {
          if constexpr (requires { op.loss_scale; }) op.loss_scale = values.scalar(1024);
        },
        made.op);
    return made;
  };
}

inline Case squared_norm(Values& values, DType dtype, const Sizes& s) {
  const Tensor norm = values.scalar(-1);
  return {compute::SquaredNorm{values.uniform(dtype, {s.batch, s.outputs}), norm},
          {{"output", norm}}};
}

inline Case clip_factor(Values& values, DType, const Sizes& s) {
  const Tensor factor = values.scalar(-1);
  return {compute::ClipFactor{values.uniform(DType::fp64, {s.inputs}, 0, 3), factor, 0.7},
          {{"factor", factor}}};
}

inline Case zero(Values& values, DType dtype, const Sizes& s) {
  const Tensor output = values.uniform(dtype, {s.batch, s.outputs});
  return {compute::Zero{output}, {{"output", output}}};
}

// Case of one input, or of three inputs of which one is the output.
inline Case weighted_sum(Values& values, DType dtype, const Sizes& s, bool several) {
  const Shape shape{s.batch * s.outputs};
  const Tensor output = values.uniform(dtype, shape);
  if (!several)
    return {compute::WeightedSum{{values.uniform(dtype, shape)}, {-0.7}, output},
            {{"output", output}}};
  return {compute::WeightedSum{{values.uniform(dtype, shape), output, values.uniform(dtype, shape)},
                               {0.25, 0.5, -1.5},
                               output},
          {{"output", output}}};
}

inline compute::UpdateInputs update_inputs(Values& values, DType dtype, const Sizes& s,
                                           bool with_factor) {
  const Shape shape{s.batch * s.outputs};  // the largest is more than one block of the cpu backend
  return {values.uniform(dtype, shape), values.uniform(dtype, shape), values.scalar(0.1),
          with_factor ? values.scalar(0.3) : Tensor{}, values.uniform(DType::fp64, {3})};
}

inline Case sgd_update(Values& values, DType dtype, const Sizes& s, double momentum) {
  const auto common = update_inputs(values, dtype, s, momentum != 0);
  const Tensor moment = momentum != 0 ? values.uniform(dtype, common.parameters.shape) : Tensor{};
  Case made{compute::SgdUpdate{common, moment, momentum, 0.01},
            {{"parameters", common.parameters}, {"statistics", common.statistics}}};
  if (momentum != 0) made.results.emplace_back("moment", moment);
  return made;
}

inline Case adam_update(Values& values, DType dtype, const Sizes& s, bool decoupled) {
  const auto common = update_inputs(values, dtype, s, decoupled);
  const Tensor first = values.uniform(dtype, common.parameters.shape),
               second = values.uniform(dtype, common.parameters.shape, 0.1, 1);
  return {compute::AdamUpdate{common, first, second, values.scalar(3), 0.9, 0.999, 1e-8, 0.01,
                              decoupled},
          {{"parameters", common.parameters},
           {"first_moment", first},
           {"second_moment", second},
           {"statistics", common.statistics}}};
}

inline compute::UpdateInputs& common_of(compute::Op& update) {
  if (auto* sgd = std::get_if<compute::SgdUpdate>(&update)) return sgd->common;
  return std::get<compute::AdamUpdate>(update).common;
}

// `update`, but its new parameters go to memory of their own; these are then its first result.
inline Case elsewhere(Values& values, Case update) {
  compute::UpdateInputs& common = common_of(update.op);
  common.updated = values.uniform(common.parameters.dtype, common.parameters.shape);
  update.results.front() = {"updated", common.updated};
  return update;
}

// `update`, but its step is taken from other numbers than the parameters.
inline Case from_origin(Values& values, Case update) {
  compute::UpdateInputs& common = common_of(update.op);
  common.origin = values.uniform(common.parameters.dtype, common.parameters.shape);
  return update;
}

// make(..., last)
template <class Make, class Last>
MakeCase with(Make make, Last last) {
  return [=](Values& values, DType dtype, const Sizes& sizes) {
    return make(values, dtype, sizes, last);
  };
}

// The op runs in place.
inline std::vector<NamedCase> update_cases() {
  return {{"sgd", with(sgd_update, 0.0)},
          {"sgd_with_momentum", with(sgd_update, 0.9)},
          {"adam", with(adam_update, false)},
          {"adam_decoupled", with(adam_update, true)}};
}

inline std::vector<NamedCase> all_cases() {
  using compute::Activation;
  std::vector<NamedCase> cases = {
      {"linear_forward", with(linear_forward, Activation::none)},
      {"linear_forward_relu", with(linear_forward, Activation::relu)},
      {"linear_forward_tanh", with(linear_forward, Activation::tanh)},
      {"linear_forward_without_bias", linear_forward_without_bias},
      {"add_bias", with(add_bias, Activation::none)},
      {"add_bias_relu", with(add_bias, Activation::relu)},
      {"add_bias_tanh", with(add_bias, Activation::tanh)},
      {"sum_rows", sum_rows},
      {"copy_columns", copy_columns},
      {"activation_backward_none", with(activation_backward, Activation::none)},
      {"activation_backward_relu", with(activation_backward, Activation::relu)},
      {"activation_backward_tanh", with(activation_backward, Activation::tanh)},
      {"linear_backward_input", linear_backward_input},
      {"linear_backward_weight", linear_backward_weight},
      {"embedding_bag_forward", embedding_bag_forward},
      {"embedding_bag_backward_weight", with(embedding_bag_backward_weight, false)},
      {"add_bag", add_bag},
      {"add_bag_backward_weight", with(embedding_bag_backward_weight, true)},
      {"softmax_cross_entropy", with(softmax_cross_entropy, true)},
      {"softmax_cross_entropy_without_gradient", with(softmax_cross_entropy, false)},
      {"embedding_part_forward", embedding_part_forward},
      {"embedding_part_backward_weight", embedding_part_backward_weight},
      {"softmax_summary", softmax_summary},
      {"softmax_part", softmax_part},
      {"squared_norm", squared_norm},
      {"softmax_cross_entropy_by_loss_scale", by_loss_scale(with(softmax_cross_entropy, true))},
      {"softmax_part_by_loss_scale", by_loss_scale(softmax_part)},
      {"clip_factor", clip_factor},
      {"clip_factor_by_loss_scale", by_loss_scale(clip_factor)},
      {"zero", zero},
      {"weighted_sum_of_one", with(weighted_sum, false)},
      {"weighted_sum_of_three", with(weighted_sum, true)},
      {"batch_norm_sums_of_features",
       [](Values& values, DType dtype, const Sizes& s) {
         return batch_norm_sums(values, dtype, {s.batch, s.outputs});
       }},
      {"batch_norm_of_features",
       [](Values& values, DType dtype, const Sizes& s) {
         return batch_norm_forward(values, dtype, {s.batch, s.outputs}, Activation::relu);
       }},
      {"batch_norm_backward_of_features",
       [](Values& values, DType dtype, const Sizes& s) {
         return batch_norm_backward_input(values, dtype, {s.batch, s.outputs});
       }},
      {"dropout_of_features", [](Values& values, DType dtype, const Sizes& s) {
         return dropout(values, dtype, {s.batch, s.inputs});
       }}};
  for (const NamedCase& update : update_cases()) {
    cases.push_back(update);
    cases.push_back({update.name + "_elsewhere",
                     [make = update.make](Values& values, DType dtype, const Sizes& s) {
                       return elsewhere(values, make(values, dtype, s));
                     }});
    cases.push_back({update.name + "_from_origin",
                     [make = update.make](Values& values, DType dtype, const Sizes& s) {
                       return from_origin(values, make(values, dtype, s));
                     }});
  }
  for (const NamedImageCase& image : image_cases())
    cases.push_back({image.name, [make = image.make](Values& values, DType dtype, const Sizes& s) {
                       return make(values, dtype, image_of(s));
                     }});
  return cases;
}

}  // namespace trainyard::conformance
