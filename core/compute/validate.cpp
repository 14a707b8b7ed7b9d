// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/validate.h"

#include <fmt/core.h>

#include <cstdint>
#include <cstdlib>

#include "core/base/units.h"
#include "core/compute/half_precision.h"
#include "core/compute/op_check.h"

namespace trainyard::compute {
namespace {

// Return the dtype that an op accepts for a tensor. `passing`: in an fp32 op, activations may have
// 16 bits. `either`: in a 16-bit op, the tensor may also be fp32.
DType passing(const Tensor& found, DType dtype) {
  return dtype == DType::fp32 && is_half(found.dtype) ? found.dtype : dtype;
}
DType either(const Tensor& found, DType dtype) {
  return found.dtype == wide(dtype) ? wide(dtype) : dtype;
}

// For each op, its name in messages and the check of its tensors (op_check.h).

std::string_view name_of_op(const LinearForward&) { return "linear_forward"; }
void check(const LinearForward& op, OpCheck& check) {
  const std::int64_t batch = op.input.shape[0], inputs = op.input.shape[1],
                     outputs = op.weight.shape[0];
  const DType dtype = op.input.dtype;
  check.matrix("input", op.input)
      .matrix("weight", op.weight)
      .is("weight", op.weight, dtype, {outputs, inputs});
  check.is_or_empty("bias", op.bias, dtype, {outputs})
      .is("output", op.output, dtype, {batch, outputs})
      .matrix("output", op.output);
  check.multiplies(op.multiplies, dtype);
}

std::string_view name_of_op(const AddBias&) { return "add_bias"; }
void check(const AddBias& op, OpCheck& check) {
  check.matrix("input", op.input)
      .is_or_empty("bias", op.bias, either(op.bias, op.input.dtype), {op.input.shape[1]});
  check.is("output", op.output, op.input.dtype, op.input.shape);
}

std::string_view name_of_op(const SumRows&) { return "sum_rows"; }
void check(const SumRows& op, OpCheck& check) {
  check.matrix("input", op.input)
      .is("output", op.output, wide(op.input.dtype), {op.input.shape[1]});
}

std::string_view name_of_op(const CopyColumns&) { return "copy_columns"; }
void check(const CopyColumns& op, OpCheck& check) {
  const auto range = [&](std::string_view part, std::int64_t first, std::int64_t width) {
    check.require(first >= 0 && op.columns >= 1 && first + op.columns <= width, part,
                  fmt::format("columns are {}:{} of {}", first, first + op.columns, width),
                  "columns of the matrix");
  };
  check.matrix("input", op.input)
      .matrix("output", op.output)
      .is("output", op.output, op.input.dtype, {op.input.shape[0], op.output.shape[1]});
  range("input_first", op.input_first, op.input.shape[1]);
  range("output_first", op.output_first, op.output.shape[1]);
}

std::string_view name_of_op(const ActivationBackward&) { return "activation_backward"; }
void check(const ActivationBackward& op, OpCheck& check) {
  check.floating("output", op.output).is("gradient", op.gradient, op.output.dtype, op.output.shape);
}

std::string_view name_of_op(const LinearBackwardInput&) { return "linear_backward_input"; }
void check(const LinearBackwardInput& op, OpCheck& check) {
  const std::int64_t batch = op.output_gradient.shape[0], outputs = op.output_gradient.shape[1],
                     inputs = op.weight.shape[1];
  const DType dtype = op.output_gradient.dtype;
  check.matrix("output_gradient", op.output_gradient).matrix("weight", op.weight);
  check.is("weight", op.weight, dtype, {outputs, inputs})
      .is("input_gradient", op.input_gradient, dtype, {batch, inputs});
  check.multiplies(op.multiplies, dtype);
}

std::string_view name_of_op(const LinearBackwardWeight&) { return "linear_backward_weight"; }
void check(const LinearBackwardWeight& op, OpCheck& check) {
  const std::int64_t batch = op.input.shape[0], inputs = op.input.shape[1],
                     outputs = op.output_gradient.shape[1];
  const DType dtype = op.input.dtype;
  check.matrix("input", op.input)
      .matrix("output_gradient", op.output_gradient)
      .is("output_gradient", op.output_gradient, dtype, {batch, outputs});
  check.is("weight_gradient", op.weight_gradient, wide(dtype), {outputs, inputs})
      .is_or_empty("bias_gradient", op.bias_gradient, wide(dtype), {outputs});
  check.is_or_empty("squared_norm", op.squared_norm, DType::fp64, {1})
      .multiplies(op.multiplies, dtype);
}

// Maximum number of table rows. Larger row numbers are not exact in fp32.
constexpr std::int64_t kMaxRows = 1 << 24;

// Checks the samples and the embedding table. `of` is the name of the samples in messages.
void check_rows(const char* of, const Tensor& input, const char* name, const Tensor& table,
                std::int64_t slots, OpCheck& check) {
  const std::int64_t inputs = input.shape[1];
  check.matrix(of, input)
      .full(of, input)
      .matrix(name, table)
      .is(name, table, input.dtype, table.shape);
  check.require(slots >= 1 && slots <= inputs, "slots", fmt::format("is {}", slots),
                fmt::format("1 to {}", inputs));
  check.require(input.dtype == DType::fp64 || table.shape[0] <= kMaxRows, name,
                fmt::format("has {}", base::counted(table.shape[0], "row")),
                fmt::format("at most {} rows, or fp64 tensors", kMaxRows));
}

// Checks that the rows of an embedding shard lie within the full table.
template <class Bag>
void check_part(const Bag& op, std::int64_t rows, OpCheck& check) {
  const bool fits = op.all_rows == 0 ? op.first_row == 0
                                     : op.first_row >= 0 && op.first_row + rows <= op.all_rows &&
                                           op.all_rows <= kMaxRows;
  check.require(
      fits, "first_row",
      fmt::format("is {} in a table of {}", op.first_row, base::counted(op.all_rows, "row")),
      fmt::format("a position at which {} fit in the table, and a table of at most {} rows",
                  base::counted(rows, "row"), kMaxRows));
}

// Returns the output shape of an embedding bag: the summed rows, then the columns that are passed
// on.
Shape bag_shape(const Tensor& input, const Tensor& table, std::int64_t slots) {
  return {input.shape[0], table.shape[1] + input.shape[1] - slots};
}

std::string_view name_of_op(const EmbeddingBagForward&) { return "embedding_bag_forward"; }
void check(const EmbeddingBagForward& op, OpCheck& check) {
  check_rows("input", op.input, "table", op.table, op.slot_count, check);
  check_part(op, op.table.shape[0], check);
  check.is("output", op.output, passing(op.output, op.input.dtype),
           bag_shape(op.input, op.table, op.slot_count));
}

std::string_view name_of_op(const AddBag&) { return "add_bag"; }
void check(const AddBag& op, OpCheck& check) {
  check_rows("samples", op.samples, "table", op.table, op.slot_count, check);
  const Shape sums{op.samples.shape[0], op.table.shape[1]};
  const DType dtype = passing(op.input, op.samples.dtype);
  check.is("input", op.input, dtype, sums).is("output", op.output, dtype, sums);
}

std::string_view name_of_op(const EmbeddingBagBackwardWeight&) {
  return "embedding_bag_backward_weight";
}
void check(const EmbeddingBagBackwardWeight& op, OpCheck& check) {
  check_rows("input", op.input, "table_gradient", op.table_gradient, op.slot_count, check);
  check_part(op, op.table_gradient.shape[0], check);
  const Shape added{op.input.shape[0], op.table_gradient.shape[1]};
  check.is("output_gradient", op.output_gradient, passing(op.output_gradient, op.input.dtype),
           op.output_gradient.shape == added
               ? added
               : bag_shape(op.input, op.table_gradient, op.slot_count));
  check.is_or_empty("squared_norm", op.squared_norm, DType::fp64, {1});
}

std::string_view name_of_op(const SoftmaxCrossEntropy&) { return "softmax_cross_entropy"; }
void check(const SoftmaxCrossEntropy& op, OpCheck& check) {
  check.matrix("logits", op.logits).is("labels", op.labels, DType::int32, {op.logits.shape[0]});
  check.is_or_empty("gradient", op.gradient, op.logits.dtype, op.logits.shape)
      .is_or_empty("metrics", op.metrics, DType::fp64, {2});
  check.is_or_empty("loss_scale", op.loss_scale, DType::fp64, {1});
}

std::string_view name_of_op(const SoftmaxSummary&) { return "softmax_summary"; }
void check(const SoftmaxSummary& op, OpCheck& check) {
  check.matrix("logits", op.logits).is("labels", op.labels, DType::int32, {op.logits.shape[0]});
  check.is("summary", op.summary, DType::fp64, {4, op.logits.shape[0]});
  check.require(
      op.first_class >= 0 && op.first_class + op.logits.shape[1] <= op.all_classes, "first_class",
      fmt::format("is {}", op.first_class),
      fmt::format("a range within {}", base::counted(op.all_classes, "class", "classes")));
}

std::string_view name_of_op(const SoftmaxCrossEntropyPart&) { return "softmax_cross_entropy_part"; }
void check(const SoftmaxCrossEntropyPart& op, OpCheck& check) {
  check.matrix("logits", op.logits).is("labels", op.labels, DType::int32, {op.logits.shape[0]});
  check.is("summaries", op.summaries, DType::fp64, {op.summaries.shape[0], 4, op.logits.shape[0]});
  check.is_or_empty("gradient", op.gradient, op.logits.dtype, op.logits.shape)
      .is_or_empty("metrics", op.metrics, DType::fp64, {2});
  check.is_or_empty("loss_scale", op.loss_scale, DType::fp64, {1});
}

std::string_view name_of_op(const SquaredNorm&) { return "squared_norm"; }
void check(const SquaredNorm& op, OpCheck& check) {
  check.full("input", op.input).is("output", op.output, DType::fp64, {1});
}

std::string_view name_of_op(const ClipFactor&) { return "clip_factor"; }
void check(const ClipFactor& op, OpCheck& check) {
  check.is("squared_norms", op.squared_norms, DType::fp64, {op.squared_norms.elements()})
      .is("factor", op.factor, DType::fp64, {1});
  check.is_or_empty("loss_scale", op.loss_scale, DType::fp64, {1});
  check.require(op.maximum > 0, "maximum", fmt::format("is {}", op.maximum), "a norm above 0");
}

std::string_view name_of_op(const Zero&) { return "zero"; }
void check(const Zero& op, OpCheck& check) {
  check.is("output", op.output, op.output.dtype, op.output.shape);
}

// Refuses a destination that partly overlaps the parameters, because the update would overwrite
// some parameters before it reads them.
void check_updated(const Tensor& updated, const Tensor& parameters, OpCheck& check) {
  check.is_or_empty("updated", updated, parameters.dtype, parameters.shape);
  if (updated.empty()) return;
  const std::int64_t distance = reinterpret_cast<std::intptr_t>(updated.data) -
                                reinterpret_cast<std::intptr_t>(parameters.data);
  check.require(
      distance == 0 || std::abs(distance) >= parameters.bytes(), "updated",
      fmt::format("begins {} after the start of the parameters, which have {}",
                  base::counted(distance, "byte"), base::counted(parameters.bytes(), "byte")),
      "the memory of the parameters itself, or memory that does not overlap it");
}

void check_common(const UpdateInputs& common, OpCheck& check) {
  check.full("parameters", common.parameters)
      .is("gradient", common.gradient, common.parameters.dtype, common.parameters.shape);
  check.is("learning_rate", common.learning_rate, DType::fp64, {1})
      .is_or_empty("factor", common.factor, DType::fp64, {1});
  check.is("statistics", common.statistics, DType::fp64, {3});
  check_updated(common.updated, common.parameters, check);
  check.is_or_empty("origin", common.origin, common.parameters.dtype, common.parameters.shape);
  if (!common.origin.empty())
    check.require(common.origin.data != common.destination().data, "origin",
                  "has the same address as the destination of the new parameters",
                  "separate memory");
}

std::string_view name_of_op(const SgdUpdate&) { return "sgd_update"; }
void check(const SgdUpdate& op, OpCheck& check) {
  const Tensor& parameters = op.common.parameters;
  check_common(op.common, check);
  check.require(op.momentum >= 0, "momentum", fmt::format("is {}", op.momentum), "0 or more");
  if (op.momentum != 0) check.is("moment", op.moment, parameters.dtype, parameters.shape);
}

std::string_view name_of_op(const AdamUpdate&) { return "adam_update"; }
void check(const AdamUpdate& op, OpCheck& check) {
  const Tensor& parameters = op.common.parameters;
  check_common(op.common, check);
  check.is("first_moment", op.first_moment, parameters.dtype, parameters.shape)
      .is("second_moment", op.second_moment, parameters.dtype, parameters.shape);
  check.is("step", op.step, DType::fp64, {1})
      .require(op.epsilon > 0, "epsilon", fmt::format("is {}", op.epsilon), "a number above 0");
  check.require(op.beta1 >= 0 && op.beta1 < 1, "beta1", fmt::format("is {}", op.beta1), "[0, 1)");
  check.require(op.beta2 >= 0 && op.beta2 < 1, "beta2", fmt::format("is {}", op.beta2), "[0, 1)");
}

}  // namespace

std::string_view name(const Op& op) {
  return std::visit([](const auto& one) { return name_of_op(one); }, op);
}

base::Result<void> validate(const Op& op, const IsAccessible& reaches) {
  OpCheck all(name(op), reaches);
  std::visit([&](const auto& one) { check(one, all); }, op);
  return all.result();
}

}  // namespace trainyard::compute
