// SPDX-License-Identifier: GPL-3.0-or-later
// Model with known sizes: segments in order, and the offset of every parameter in the flat
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

// Box of rows and columns of a tensor. The first extent counts rows, all others together columns.
struct Box {
  Shape whole;  // Shape of the full tensor; without dimensions: not a box but the tensor itself.
  std::int64_t first_row = 0, first_column = 0;

  bool any() const { return whole.dimensions > 0; }
};

// Named tensor in a flat buffer; offset and size in elements.
struct Parameter {
  std::string name;  // "0.weight"
  Shape shape;       // For a box, its rows and columns.
  std::int64_t offset = 0;
  int segment = 0;
  std::uint32_t number = 0;  // Number in the full model, which selects its random initialization.
  Box box = {};              // Position in the full tensor, if it is a part of one.

  // Returns the row-major index in the full tensor of element `i`.
  std::int64_t index_in_full(std::int64_t i) const;
};

// Dimension in which a layer is split among ranks that take the same samples (core/model/split.h).
// All ranks have a layer that is not split.
enum class Split : std::uint8_t {
  none,
  outputs,  // Each rank computes some outputs from all inputs.
  // Each rank computes all outputs from some inputs; the sum over ranks is the layer's output.
  inputs,
  // Each rank looks up some rows of a table, and adds nothing for other rows; summed over ranks.
  rows,
};

// Finest run of layers in a plan: a layer and the activation that follows it. Only some have
// parameters. Flatten is not a segment, because it only changes the shape.
struct Segment {
  std::string name;                      // "0 linear 784-512 relu"
  std::int64_t inputs = 0, outputs = 0;  // Numbers per sample.
  compute::Activation activation = compute::Activation::none;
  std::int64_t first = 0,
               elements = 0;  // Its parameters in the flat buffer: weight, then bias if it has one.
  LayerKind kind = LayerKind::linear;
  int layer = 0;  // Index in the list of layers.
  // Shapes of one sample: {features}, {rows, channels} of a sequence, or {height, width, channels}.
  Shape input_shape, output_shape;
  compute::Window window;     // conv2d and pools
  double momentum = 0;        // batch_norm
  bool synchronized = false;  // batch_norm: statistics over the samples of all ranks.
  double probability = 0;     // dropout
  std::int64_t slot_count =
      0;        // Lookup layers: the first columns of the sample, which are row numbers.
  Shape table;  // Lookup layers: [rows, width].
  // embedding: [rows, width] of the vocabulary table; its bias has a row for each position in
  // the sample.
  Shape vocabulary;
  std::int64_t heads = 0;  // attention
  int tied_to = -1;  // linear: the segment whose weight it uses and trains instead of its own.
  // True for it and for that segment if they are on two ranks, each of which has the weight
  // (core/model/local_model.h).
  bool apart = false;
  int addend = -1;  // add: the segment whose output is added to that of the preceding one.
  // batch_norm: offset of its running means and variances [2, channels] in the flat state.
  std::int64_t running = 0;
  Split split = Split::none;
  // Split segment: has `split_of` outputs (per row), inputs or rows in total, of which this rank
  // has those from `split_first` on.
  std::int64_t split_first = 0, split_of = 0;
  bool biased = true;  // False: another rank adds the bias.
  // True if the gradient of its input (or addend) was already written by a later segment that uses
  // the same value, so that this one must be added.
  bool accumulates = false, addend_accumulates = false;

  // True if its only parameter is a table, stored row by row from `first` on. A sample uses the
  // rows named by its first `slot_count` columns; the output depends on no other row, and no other
  // row has a gradient.
  bool looks_up() const { return table.dimensions > 0; }
  std::int64_t channels() const { return output_shape[output_shape.dimensions - 1]; }
  Shape weight_shape() const;  // For lookup layers the table.
  std::int64_t bias_elements()
      const;  // One per channel, for embedding one per position and channel; 0: none.
  std::int64_t bias_offset() const { return first + weight_shape().elements(); }
  std::int64_t inputs_of_output() const;  // Number of inputs that one output is a weighted sum of.

  // Floating-point operations of one sample: a multiply and an add for each weight and position;
  // all else counts one for each operation on an element.
  std::int64_t forward_flops() const;
  std::int64_t backward_input_flops() const;
  std::int64_t backward_weight_flops() const;
  // batch_norm, a part of forward: the statistics summed over samples.
  std::int64_t sums_flops() const;
};

struct Model {
  std::int64_t features = 0, classes = 0;
  std::vector<Segment> segments;
  std::vector<Parameter> parameters;
  std::int64_t elements = 0;     // Size of the flat parameter buffer.
  std::vector<Parameter> state;  // Training state besides parameters: running means and variances.
  std::int64_t state_elements = 0;  // Size of the flat state buffer.

  // Returns the segment whose parameters it uses.
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
  }                               // Labels per sample: one per row of a sequence.
  bool drops() const;             // True if a segment is dropout.
  int first_with_parameters = 0;  // No gradient is needed before it.
};

// `validate` returns problems of the layer list (paths start at `path`); `build` returns the model.
// `sample` is the shape of a sample, {features} or {height, width, channels}; without dimensions if
// unknown. Checks that depend on an unknown shape, or on `classes` if 0, are skipped. Rules:
//
// - an activation follows a linear layer, a convolution, a batch normalization or a sum;
// - convolutions and pools take images, and a window fits the image;
// - a sum adds equal shapes;
// - an embedding_bag is the first layer, and takes rows of columns;
// - the last layer is linear with as many units as classes, or wide after such a layer;
// - it may be tied to an embedding with rows as wide as its input, one for each class;
// - an embedding is the first layer;
// - attention takes a sequence, to each row of which linear layers apply.
base::Problems validate(const ModelSpec& spec, const Shape& sample, std::int64_t classes,
                        const std::string& path);
base::Result<Model> build(const ModelSpec& spec, const Shape& sample, std::int64_t classes);
inline base::Result<Model> build(const ModelSpec& spec, std::int64_t features,
                                 std::int64_t classes) {
  return build(spec, Shape{features}, classes);
}

// Initializes weights and biases uniformly in +-1/sqrt(inputs of an output) (the default of
// torch.nn.Linear and Conv2d); for a bag these are the rows that it sums; for an embedding
// +-1/sqrt(width). Batch normalization starts with 1 and 0. A wide table starts with 0, as a linear
// model of TensorFlow (tf.feature_column.linear_model): there is no symmetry to break, and rows
// never looked up then contribute nothing. Equal for every number of ranks, and for every dtype up
// to rounding. `state` (may be empty): means 0, variances 1.
void initialize(const Model& model, std::int64_t seed, const compute::Tensor& parameters,
                const compute::Tensor& state = {});

}  // namespace trainyard::model
