// SPDX-License-Identifier: GPL-3.0-or-later
// Model with known sizes: its segments in order, and the offset of every parameter in the flat
// parameter buffer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/compute/layer_options.h"
#include "core/compute/tensor.h"
#include "core/model/model_spec.h"

namespace trainyard::model {

using compute::Shape;

// Part of a tensor, viewed as a matrix: some rows and columns. The first dimension of the tensor is
// the rows; all others together are the columns.
struct Box {
  Shape whole;  // Shape of the full tensor. Without dimensions, the parameter is the full tensor.
  std::int64_t first_row = 0, first_column = 0;

  bool any() const { return whole.dimensions > 0; }
};

// A parameter: a named tensor in the flat parameter buffer; offset and size in elements.
struct Parameter {
  std::string name;  // "0.weight"
  Shape shape;       // If the parameter is a part of a tensor, the shape of that part.
  std::int64_t offset = 0;
  int segment = 0;
  std::uint32_t number = 0;  // Index in the full model, which selects its random initialization.
  // Rows and columns of the full tensor that this parameter holds, if it is a part of a tensor.
  Box box = {};

  // Returns the row-major index, in the full tensor, of element `i` of this parameter.
  std::int64_t index_in_full(std::int64_t i) const;
};

// How tensor parallelism splits a layer among ranks that take the same samples
// (core/model/split.h). With `none` every rank has the full layer.
enum class Split : std::uint8_t {
  none,
  outputs,  // Each rank computes some outputs, from all inputs.
  // Each rank computes a term of all outputs, from some inputs. The sum over ranks is the output.
  inputs,
  // Each rank has some rows of a table, and gives zeros for other rows. The sum over ranks is the
  // output.
  rows,
};

// Smallest unit of the model in a plan: a layer, together with an activation that follows it. Only
// some kinds have parameters. A flatten layer is no segment, because it only changes the shape.
struct Segment {
  std::string name;                      // "0 linear 784-512 relu"
  std::int64_t inputs = 0, outputs = 0;  // Numbers of inputs and outputs per sample.
  compute::Activation activation = compute::Activation::none;
  // Range of the segment's parameters in the flat parameter buffer: the weight, then the bias if
  // there is one.
  std::int64_t first = 0, elements = 0;
  LayerKind kind = LayerKind::linear;
  int layer = 0;  // Index in the list of layers.
  // Shapes of one sample: {features}, {rows, channels} of a sequence, or {height, width, channels}.
  Shape input_shape, output_shape;
  compute::Window window;     // conv2d and pools
  double momentum = 0;        // batch_norm
  bool synchronized = false;  // batch_norm: true if statistics are over the samples of all ranks.
  double probability = 0;     // dropout
  // Lookup layers: number of leading columns of a sample that are indices of table rows.
  std::int64_t slot_count = 0;
  Shape table;  // Lookup layers: [rows, width].
  // embedding: shape of the table [rows, width]. Its bias has a row for each position in the
  // sample.
  Shape vocabulary;
  std::int64_t heads = 0;  // attention
  // linear: index of the segment whose weight it uses and trains; -1 if it has its own weight
  int tied_to = -1;
  // True for two tied segments on different ranks. Each of these ranks then has the weight
  // (core/model/local_model.h).
  bool apart = false;
  // For a residual sum (`add`): the segment whose output is added to the output of the preceding
  // segment.
  int addend = -1;
  // batch_norm: offset of its running means and variances [2, channels] in the flat state buffer.
  std::int64_t running = 0;
  Split split = Split::none;
  // For a split segment: its total number (`split_of`) of outputs per row, inputs or table rows,
  // and the first one of this rank (`split_first`).
  std::int64_t split_first = 0, split_of = 0;
  bool biased = true;  // False if another rank adds the bias.
  // True if a later segment that uses the same value already wrote the gradient of this segment's
  // input (or addend). This segment must then add to that gradient.
  bool accumulates = false, addend_accumulates = false;

  // True if the segment's only parameter is a table, stored row by row from `first` on. The first
  // `slot_count` columns of a sample are indices of rows of the table. The output depends only on
  // these rows, and only they get a gradient.
  bool looks_up() const { return table.dimensions > 0; }
  std::int64_t channels() const { return output_shape[output_shape.dimensions - 1]; }
  Shape weight_shape() const;  // Shape of the weight; for lookup layers, of the table.
  // Number of bias elements: one per channel; for embedding one per position and channel; 0 if
  // there is no bias.
  std::int64_t bias_elements() const;
  std::int64_t bias_offset() const { return first + weight_shape().elements(); }
  std::int64_t inputs_of_output() const;  // Number of inputs in the weighted sum of one output.

  // Floating-point operations for one sample. Each use of a weight counts as a multiply and an add;
  // everything else counts one for each operation on an element.
  std::int64_t forward_flops() const;
  std::int64_t backward_input_flops() const;
  std::int64_t backward_weight_flops() const;
  // Returns the flops for the sums over samples of batch normalization. They are a part of
  // forward_flops. Only for batch_norm.
  std::int64_t sums_flops() const;
};

struct Model {
  std::int64_t features = 0, classes = 0;
  std::vector<Segment> segments;
  std::vector<Parameter> parameters;
  std::int64_t elements = 0;     // Size of the flat parameter buffer.
  std::vector<Parameter> state;  // Training state that is not trained: running means and variances.
  std::int64_t state_elements = 0;  // Size of the flat state buffer.

  // Returns the segment that owns the parameters of the given segment: the segment itself, or the
  // segment to which it is tied.
  const Segment& owner(const Segment& segment) const {
    return segment.tied_to < 0 ? segment : segments[static_cast<std::size_t>(segment.tied_to)];
  }
  int owner(int segment) const {
    const int tied = segments[static_cast<std::size_t>(segment)].tied_to;
    return tied < 0 ? segment : tied;
  }
  bool ties() const;  // True if a segment uses the parameters of another.
  std::int64_t labels() const {
    return segments.empty() ? 1 : segments.back().outputs / classes;
  }                    // Number of labels per sample: one, or one per row of a sequence.
  bool drops() const;  // True if any segment is dropout.
  // First segment with parameters. Segments before it need no gradient.
  int first_with_parameters = 0;
};

// `validate` returns problems of the list of layers; their paths start with `path`. `build` returns
// the model. `sample` is the shape of a sample: {features} or {height, width, channels}, or without
// dimensions if unknown. If the shape is unknown, or `classes` is 0, checks that depend on it are
// skipped. Rules:
//
// - an activation follows a linear layer, a convolution, a batch normalization or a sum;
// - convolutions and pools take images, and a window fits the image;
// - the two inputs of a sum have equal shapes;
// - an embedding_bag is the first layer, and its samples are rows of feature columns;
// - the last layer is linear with as many units as classes, or wide after such a layer;
// - the last linear layer may be tied to an embedding that has one row per class, as wide as the
//   layer's input;
// - an embedding is the first layer;
// - attention takes a sequence, that is, rows of numbers.
base::Problems validate(const ModelSpec& spec, const Shape& sample, std::int64_t classes,
                        const std::string& path);
base::Result<Model> build(const ModelSpec& spec, const Shape& sample, std::int64_t classes);
inline base::Result<Model> build(const ModelSpec& spec, std::int64_t features,
                                 std::int64_t classes) {
  return build(spec, Shape{features}, classes);
}

// Initializes parameters and state. Weights and biases are uniform in +-1/sqrt(number of inputs of
// an output), the default of torch.nn.Linear and Conv2d. For an embedding_bag, the number of inputs
// is the number of rows that it sums; for an embedding, it is the width. Batch normalization starts
// with scale 1 and shift 0. A wide table starts with 0, as a linear model of TensorFlow does
// (tf.feature_column.linear_model): there is no symmetry to break, and rows that are never looked
// up then contribute nothing. The values do not depend on the number of ranks, nor, up to rounding,
// on the dtype. In `state`, which may be empty, means are 0 and variances 1.
void initialize(const Model& model, std::int64_t seed, const compute::Tensor& parameters,
                const compute::Tensor& state = {});

}  // namespace trainyard::model
