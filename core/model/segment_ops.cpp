// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/segment_ops.h"

#include "core/compute/ops.h"

namespace trainyard::model {
namespace {

using compute::Op;
using compute::Pooling;
using compute::Tensor;
using Ops = std::vector<Op>;

Tensor part(const Tensor& flat, std::int64_t offset, const Shape& shape) {
  if (flat.empty()) return {};
  return {flat.dtype, shape, flat.data + offset * compute::size_of(flat.dtype)};
}

Tensor weight(const Segment& s, const Tensor& own) { return part(own, 0, s.weight_shape()); }
Tensor running(const Segment& s, const SegmentTensors& t) {
  return part(t.state, s.running, {2, s.channels()});
}
// Returns the bias in the parameters of a segment; an empty tensor if the segment has none.
Tensor bias(const Segment& s, const Tensor& own) {
  return s.bias_elements() > 0 ? part(own, s.weight_shape().elements(), {s.bias_elements()})
                               : Tensor{};
}
compute::RowNorm row_norm(const Segment& s) {
  return s.kind == LayerKind::layer_norm ? compute::RowNorm::layer
                                         : compute::RowNorm::root_mean_square;
}
Pooling pooling(const Segment& s) {
  return s.kind == LayerKind::max_pool ? Pooling::maximum : Pooling::average;
}

// Reshapes a batch of flat samples [B, elements of a sample] to [B, dimensions of a sample].
Tensor shaped(Tensor rows, const Shape& sample) {
  const std::int64_t batch = rows.shape[0];
  rows.shape.dimensions = sample.dimensions + 1;
  rows.shape.extents[0] = batch;
  for (int i = 0; i < sample.dimensions; ++i)
    rows.shape.extents[static_cast<std::size_t>(i) + 1] = sample[i];
  return rows;
}

// Reshapes a tensor of any shape to a matrix with `columns` columns.
Tensor rows_of(Tensor tensor, std::int64_t columns) {
  if (tensor.empty()) return {};
  tensor.shape = {tensor.shape.elements() / columns, columns};
  return tensor;
}

// Reshapes sequences to a matrix that has the rows of all samples one after another.
Tensor input_rows(const Segment& s, const Tensor& tensor) {
  return rows_of(tensor, s.input_shape[s.input_shape.dimensions - 1]);
}
Tensor output_rows(const Segment& s, const Tensor& tensor) { return rows_of(tensor, s.channels()); }
// Reshape the input of an embedding to a matrix. `numbers` returns one row per element of each
// sample; `full_rows` returns one row per sample.
Tensor numbers(const SegmentTensors& t) { return rows_of(t.input, 1); }
Tensor full_rows(const Segment& s, const Tensor& tensor) { return rows_of(tensor, s.outputs); }

// Reshapes the inputs and outputs of a segment, and their gradients, from flat samples to the
// segment's shapes.
SegmentTensors in_shape(const Segment& s, SegmentTensors t) {
  for (Tensor* tensor : {&t.input, &t.input_gradient, &t.partial})
    if (!tensor->empty()) *tensor = shaped(*tensor, s.input_shape);
  for (Tensor* tensor : {&t.output, &t.output_gradient, &t.addend, &t.addend_gradient})
    if (!tensor->empty()) *tensor = shaped(*tensor, s.output_shape);
  return t;
}

compute::Dropout dropout(const Segment& s, const SegmentTensors& t, const Tensor& from,
                         const Tensor& to) {
  return {from,         to, t.sample_numbers, t.step, t.seed, static_cast<std::uint32_t>(s.layer),
          s.probability};
}

// Returns the ops of an embedding. If its table is split, each rank looks up only its rows, and
// only one rank adds the positions.
Ops embedding_forward(const Segment& s, const SegmentTensors& t) {
  Ops ops{compute::EmbeddingBagForward{numbers(t), weight(s, t.parameters),
                                       output_rows(s, t.output), 1, s.split_first, s.split_of}};
  if (s.biased)
    ops.emplace_back(
        compute::AddBias{full_rows(s, t.output), bias(s, t.parameters), full_rows(s, t.output)});
  return ops;
}

// Forward ops that are the same in training and in evaluation.
Ops common_forward(const Segment& s, const SegmentTensors& t) {
  switch (s.kind) {
    case LayerKind::linear:
      return {compute::LinearForward{input_rows(s, t.input), weight(s, t.parameters),
                                     bias(s, t.parameters), output_rows(s, t.output), s.activation,
                                     t.multiplies}};
    case LayerKind::embedding: return embedding_forward(s, t);
    case LayerKind::attention: return {compute::AttentionForward{t.input, t.output, s.heads}};
    case LayerKind::conv2d:
      return {compute::Conv2dForward{t.input, weight(s, t.parameters), bias(s, t.parameters),
                                     t.output, s.window, s.activation, t.multiplies}};
    case LayerKind::max_pool:
    case LayerKind::average_pool:
      return {compute::PoolForward{t.input, t.output, s.window, pooling(s)}};
    case LayerKind::embedding_bag:
      return {
          compute::EmbeddingBagForward{t.samples, weight(s, t.parameters), t.output, s.slot_count}};
    case LayerKind::wide:
      return {compute::AddBag{t.input, t.samples, weight(s, t.parameters), t.output, s.slot_count}};
    case LayerKind::add: return {compute::Add{t.input, t.addend, t.output, s.activation}};
    case LayerKind::gelu: return {compute::GeluForward{t.input, t.output}};
    case LayerKind::layer_norm:
    case LayerKind::rms_norm:
      return {compute::RowNormForward{t.input, weight(s, t.parameters), bias(s, t.parameters),
                                      t.output, row_norm(s)}};
    default: return {};
  }
}

// Returns an op for the gradient of a sum: each input of the sum gets the same gradient.
Op pass_gradient_on(const Tensor& gradient, const Tensor& to, bool accumulates) {
  if (accumulates) return compute::Accumulate{gradient, to};
  return compute::Copy{gradient, to};
}

// Returns the op that writes the gradient of the segment's input to `to`.
Op input_gradient(const Segment& s, const SegmentTensors& t, const Tensor& to) {
  switch (s.kind) {
    case LayerKind::conv2d:
      return compute::Conv2dBackwardInput{t.output_gradient, weight(s, t.parameters), to, s.window,
                                          t.multiplies};
    case LayerKind::max_pool:
    case LayerKind::average_pool:
      return compute::PoolBackward{t.input, t.output, t.output_gradient, to, s.window, pooling(s)};
    case LayerKind::batch_norm:
      return compute::BatchNormBackwardInput{t.input, t.output_gradient, weight(s, t.parameters),
                                             t.sums,  t.gradient_sums,   to};
    case LayerKind::layer_norm:
    case LayerKind::rms_norm:
      return compute::RowNormBackwardInput{t.input, t.output_gradient, weight(s, t.parameters), to,
                                           row_norm(s)};
    case LayerKind::gelu: return compute::GeluBackward{t.input, t.output_gradient, to};
    case LayerKind::dropout: return dropout(s, t, t.output_gradient, to);
    case LayerKind::attention:
      return compute::AttentionBackward{t.input, t.output, t.output_gradient, to, s.heads};
    default:
      return compute::LinearBackwardInput{output_rows(s, t.output_gradient),
                                          weight(s, t.parameters), input_rows(s, to), t.multiplies};
  }
}

Op sums(const SegmentTensors& t) { return compute::BatchNormSums{t.input, t.sums}; }

Op normalized(const Segment& s, const SegmentTensors& t) {
  return compute::BatchNormForward{.input = t.input,
                                   .weight = weight(s, t.parameters),
                                   .bias = bias(s, t.parameters),
                                   .sums = t.sums,
                                   .running = running(s, t),
                                   .output = t.output,
                                   .momentum = s.momentum,
                                   .activation = s.activation};
}

// Returns the ops for the gradient of an embedding: of the table's rows, and of the positions,
// summed over all samples. Both gradients are contiguous in memory, and one op computes the norm of
// both.
Ops embedding_backward(const Segment& s, const SegmentTensors& t, const Tensor& of_table,
                       const Tensor& of_places) {
  Ops ops{compute::EmbeddingBagBackwardWeight{
      numbers(t), output_rows(s, t.output_gradient), of_table, {}, 1, s.split_first, s.split_of}};
  if (!of_places.empty())
    ops.emplace_back(compute::SumRows{full_rows(s, t.output_gradient), of_places});
  if (!t.squared_norm.empty()) ops.emplace_back(compute::SquaredNorm{t.gradients, t.squared_norm});
  return ops;
}

// Returns the ops for the gradient of an embedding table that the segment shares with the segment
// that owns it (tied weights). They set the gradient of the owner's other parameters to zero.
Ops tied_backward(const Segment& s, const SegmentTensors& t, const Tensor& of_table) {
  const std::int64_t rest = t.gradients.elements() - of_table.elements();
  Ops ops{compute::LinearBackwardWeight{input_rows(s, t.input),
                                        output_rows(s, t.output_gradient),
                                        of_table,
                                        {},
                                        {},
                                        t.multiplies},
          compute::Zero{part(t.gradients, of_table.elements(), {rest})}};
  if (!t.squared_norm.empty()) ops.emplace_back(compute::SquaredNorm{t.gradients, t.squared_norm});
  return ops;
}

void activation_backward(const Segment& s, const SegmentTensors& t, Ops& ops) {
  if (s.activation != compute::Activation::none)
    ops.emplace_back(compute::ActivationBackward{t.output, t.output_gradient, s.activation});
}

}  // namespace

Ops forward(const Segment& s, const SegmentTensors& tensors) {
  const SegmentTensors t = in_shape(s, tensors);
  if (s.kind == LayerKind::dropout) return {dropout(s, t, t.input, t.output)};
  if (s.kind != LayerKind::batch_norm) return common_forward(s, t);
  return {sums(t), normalized(s, t)};
}

Ops batch_statistics(const Segment& s, const SegmentTensors& tensors) {
  return {sums(in_shape(s, tensors))};
}

Ops normalize(const Segment& s, const SegmentTensors& tensors) {
  return {normalized(s, in_shape(s, tensors))};
}

Ops partial_sums(const Segment& s, const SegmentTensors& tensors) {
  Segment linear = s;
  linear.activation = compute::Activation::none;
  return common_forward(linear, in_shape(s, tensors));
}

Ops activate_sum(const Segment& s, const SegmentTensors& tensors) {
  const Tensor output = full_rows(s, tensors.output);
  return {compute::AddBias{output, {}, output, s.activation}};
}

Ops evaluate(const Segment& s, const SegmentTensors& tensors) {
  const SegmentTensors t = in_shape(s, tensors);
  if (s.kind == LayerKind::dropout) return {compute::Copy{t.input, t.output}};
  if (s.kind != LayerKind::batch_norm) return common_forward(s, t);
  return {compute::BatchNormEvaluate{.input = t.input,
                                     .weight = weight(s, t.parameters),
                                     .bias = bias(s, t.parameters),
                                     .running = running(s, t),
                                     .output = t.output,
                                     .activation = s.activation}};
}

Ops backward_input(const Segment& s, const SegmentTensors& tensors) {
  const SegmentTensors t = in_shape(s, tensors);
  Ops ops;
  if (s.kind != LayerKind::batch_norm) activation_backward(s, t, ops);
  if (s.kind == LayerKind::add || s.kind == LayerKind::wide) {
    if (!t.input_gradient.empty())
      ops.push_back(pass_gradient_on(t.output_gradient, t.input_gradient, s.accumulates));
    if (!t.addend_gradient.empty())
      ops.push_back(pass_gradient_on(t.output_gradient, t.addend_gradient, s.addend_accumulates));
  } else if (!t.input_gradient.empty()) {
    ops.push_back(input_gradient(s, t, s.accumulates ? t.partial : t.input_gradient));
    if (s.accumulates) ops.emplace_back(compute::Accumulate{t.partial, t.input_gradient});
  }
  return ops;
}

Ops backward_weight(const Segment& s, const SegmentTensors& tensors) {
  const SegmentTensors t = in_shape(s, tensors);
  const Tensor of_weight = weight(s, t.gradients);
  if (s.looks_up())
    return {compute::EmbeddingBagBackwardWeight{t.samples, t.output_gradient, of_weight,
                                                t.squared_norm, s.slot_count}};
  const Tensor of_bias = bias(s, t.gradients);
  if (s.kind == LayerKind::embedding) return embedding_backward(s, t, of_weight, of_bias);
  if (normalizes_rows(s.kind))
    return {compute::RowNormBackwardWeight{t.input, t.output_gradient, of_weight, of_bias,
                                           t.squared_norm, row_norm(s)}};
  if (s.kind == LayerKind::conv2d)
    return {compute::Conv2dBackwardWeight{t.input, t.output_gradient, of_weight, of_bias,
                                          t.squared_norm, s.window, t.multiplies}};
  if (s.tied_to >= 0) return tied_backward(s, t, of_weight);
  if (s.kind != LayerKind::batch_norm)
    return {compute::LinearBackwardWeight{input_rows(s, t.input), output_rows(s, t.output_gradient),
                                          of_weight, of_bias, t.squared_norm, t.multiplies}};
  Ops ops;
  activation_backward(s, t, ops);
  ops.emplace_back(compute::BatchNormBackwardWeight{t.input, t.output_gradient, t.sums, of_weight,
                                                    of_bias, t.gradient_sums, t.squared_norm});
  return ops;
}

}  // namespace trainyard::model
