// SPDX-License-Identifier: GPL-3.0-or-later
// A model with its sizes known: segments in order, and where every parameter lies in the flat
// parameter buffer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/compute/compute.h"
#include "core/model/model_spec.h"

namespace trainyard::model {

using compute::Shape;

// Some rows and columns of a tensor, whose first extent counts rows, and all others columns.
struct Box {
  Shape whole;  // without dimensions: the tensor itself
  std::int64_t first_row = 0, first_column = 0;

  bool any() const { return whole.dimensions > 0; }
};

// A named tensor in a flat buffer; offset and size in elements.
struct Parameter {
  std::string name;  // "0.weight"
  Shape shape;       // of a box its rows and columns
  std::int64_t offset = 0;
  int segment = 0;
  std::uint32_t number = 0;  // in the whole model: what it is initialised by
  Box box = {};              // of what it is a part

  // Where in the whole tensor, row by row, its element `i` stands.
  std::int64_t in_whole(std::int64_t i) const;
};

// By what a layer is shared out among ranks that take the same samples (core/model/split.h).
// Numbers that are not split all of them have.
enum class Split : std::uint8_t {
  none,
  outputs,  // each makes some outputs, of all inputs
  inputs,   // each makes all outputs of some inputs: their sum over ranks is the layer's
  rows,     // each looks up some rows of a table, and adds nothing where a sample names another:
            // likewise
};

// The finest run of layers that the plan speaks of: a layer and the activation that follows it.
// Only some have parameters. Flatten is no segment: it says of the same numbers that they are a
// row.
struct Segment {
  std::string name;                      // "0 linear 784-512 relu"
  std::int64_t inputs = 0, outputs = 0;  // numbers of one sample
  compute::Activation activation = compute::Activation::none;
  std::int64_t first = 0,
               elements =
                   0;  // its parameters in the flat buffer: weight, then bias, where it has one
  LayerKind kind = LayerKind::linear;
  int layer = 0;                    // its place in the list
  Shape input_shape, output_shape;  // of one sample: {features}, {rows, channels} of a sequence, or
                                    // {height, width, channels}
  compute::Window window;           // of conv2d and pools
  double momentum = 0;              // of batch_norm
  bool synchronised = false;        // of batch_norm: by the samples of all ranks
  double probability = 0;           // of dropout
  std::int64_t slot_count =
      0;        // of one that looks up: the first columns of the sample, which are numbers of rows
  Shape table;  // of one that looks up: [rows, width]
  Shape vocabulary;  // of embedding: [rows, width] of the table that its numbers name; its bias is
                     // a row for each place in the sample
  std::int64_t heads = 0;  // of attention
  int tied_to =
      -1;  // of linear: the segment whose weight it uses, and learns, in the place of its own
  bool apart = false;  // of it, and of that segment: they are on two ranks, each of which has the
                       // weight (core/model/part.h)
  int addend = -1;     // of add: the segment whose output it adds to that of the one before it
  std::int64_t running = 0;  // of batch_norm: where its running means and variances [2, channels]
                             // begin in the flat state
  Split split = Split::none;
  std::int64_t split_first = 0, split_of = 0;  // of all outputs (in a row), inputs or rows
                                               // `split_of` those from `split_first` on
  bool biased = true;  // false: what it would add besides, another rank adds
  // Whether the gradient at its input, or at its addend, has a part there when its own comes, from
  // a later sum.
  bool accumulates = false, addend_accumulates = false;

  // Whether its only parameter is a table, row by row from `first` on, of which a sample takes the
  // rows that its first `slot_count` columns name: on no other row does the output depend, and no
  // other has a gradient.
  bool looks_up() const { return table.dimensions > 0; }
  std::int64_t channels() const { return output_shape[output_shape.dimensions - 1]; }
  Shape weight_shape() const;  // of one that looks up its table
  std::int64_t bias_elements()
      const;  // one a channel, of embedding one a place and channel; 0: there is none
  std::int64_t bias_offset() const { return first + weight_shape().elements(); }
  std::int64_t inputs_of_output() const;  // how many numbers one output is a weighted sum of

  // Floating-point operations of one sample: a multiply and an add for each weight and place; all
  // else one each for what it does to an element.
  std::int64_t forward_flops() const;
  std::int64_t backward_input_flops() const;
  std::int64_t backward_weight_flops() const;
  std::int64_t sums_flops() const;  // of batch_norm, a part of forward: what is summed over samples
};

struct Model {
  std::int64_t features = 0, classes = 0;
  std::vector<Segment> segments;
  std::vector<Parameter> parameters;
  std::int64_t elements = 0;        // of the flat parameter buffer
  std::vector<Parameter> state;     // what training keeps besides: running means and variances
  std::int64_t state_elements = 0;  // of its flat buffer

  // The segment whose parameters it computes by.
  const Segment& owner(const Segment& segment) const {
    return segment.tied_to < 0 ? segment : segments[static_cast<std::size_t>(segment.tied_to)];
  }
  int owner(int segment) const {
    const int tied = segments[static_cast<std::size_t>(segment)].tied_to;
    return tied < 0 ? segment : tied;
  }
  bool ties() const;  // whether a segment uses the parameters of another
  std::int64_t labels() const {
    return segments.empty() ? 1 : segments.back().outputs / classes;
  }                               // of a sample: of a sequence one a row
  bool drops() const;             // whether a segment is dropout
  int first_with_parameters = 0;  // no gradient is wanted before it
};

// Problems of the layer list (paths start at `path`), or the model. `sample` is the shape of a
// sample, {features} or {height, width, channels}, without dimensions where it is not known; then,
// as for `classes` of 0, nothing is said that depends on it. Rules: an activation follows a linear
// layer, a convolution, a batch normalisation or a sum; convolutions and pools take images; a
// window fits the image; a sum adds equal shapes; an embedding_bag is the first and takes rows of
// columns; the last layer is linear with as many units as there are classes, or wide after such a
// layer; it may be tied to an embedding of rows as wide as what comes in, one for each class; an
// embedding is the first; attention takes a sequence, of which linear layers take each row by
// itself.
base::Problems validate(const ModelSpec& spec, const Shape& sample, std::int64_t classes,
                        const std::string& path);
base::Result<Model> build(const ModelSpec& spec, const Shape& sample, std::int64_t classes);
inline base::Result<Model> build(const ModelSpec& spec, std::int64_t features,
                                 std::int64_t classes) {
  return build(spec, Shape{features}, classes);
}

// Weights and biases uniform in +-1/sqrt(inputs of an output) (the default of torch.nn.Linear and
// Conv2d), which of a bag are as many as it adds up; of an embedding uniform in +-1/sqrt(width); of
// batch normalisation 1 and 0. A wide table begins at 0, as a linear model of TensorFlow does
// (tf.feature_column.linear_model): there is no symmetry to break, and what is never looked up then
// says nothing. Equal for every rank count and dtype up to rounding. `state` (may be empty): means
// 0, variances 1.
void initialise(const Model& model, std::int64_t seed, const compute::Tensor& parameters,
                const compute::Tensor& state = {});

}  // namespace trainyard::model
