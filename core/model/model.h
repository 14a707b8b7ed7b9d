// SPDX-License-Identifier: GPL-3.0-or-later
// A model with its sizes known: segments in order, and where every parameter lies in the flat parameter buffer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/compute/compute.h"
#include "core/model/model_spec.h"

namespace trainyard::model {

// A named tensor in the flat parameter buffer; offset and size in elements.
struct Parameter {
  std::string name;  // "0.weight"
  compute::Shape shape;
  std::int64_t offset = 0;
  int segment = 0;
};

// The finest run of layers that the plan speaks of: a linear layer and the activation that follows it.
struct Segment {
  std::string name;  // "0 linear 784-512 relu"
  std::int64_t inputs = 0, outputs = 0;
  compute::Activation activation = compute::Activation::none;
  std::int64_t first = 0, elements = 0;  // its parameters in the flat buffer: weight [outputs, inputs], then bias [outputs]

  std::int64_t bias_offset() const { return first + inputs * outputs; }
  // Floating-point operations of one sample: a multiply and an add for each weight; biases and activations one each.
  std::int64_t forward_flops() const { return 2 * inputs * outputs + 2 * outputs; }
  std::int64_t backward_input_flops() const { return 2 * inputs * outputs; }
  std::int64_t backward_weight_flops() const { return 2 * inputs * outputs + 2 * outputs; }
};

struct Model {
  std::int64_t features = 0, classes = 0;
  std::vector<Segment> segments;
  std::vector<Parameter> parameters;
  std::int64_t elements = 0;  // of the flat parameter buffer
};

// Problems of the layer list (paths start at `path`), or the model. Rules: the first layer is linear, an activation follows
// a linear layer, the last layer is linear with as many units as there are classes.
base::Problems validate(const ModelSpec& spec, std::int64_t classes, const std::string& path);
base::Result<Model> build(const ModelSpec& spec, std::int64_t features, std::int64_t classes);

// Weights and biases uniform in +-1/sqrt(inputs) (the default of torch.nn.Linear), equal for every rank count and dtype
// up to rounding.
void initialise(const Model& model, std::int64_t seed, const compute::Tensor& parameters);

// Where a segment finds its tensors when `samples` samples pass. Gradients may be empty where they are not wanted.
struct SegmentTensors {
  compute::Tensor input, output;                    // [B, inputs], [B, outputs]
  compute::Tensor input_gradient, output_gradient;  // as above
  compute::Tensor parameters, gradients;            // the flat buffers, whole
  compute::Tensor squared_norm;                     // fp64 [1]: of the segment's own gradient
};

std::vector<compute::Op> forward(const Segment& segment, const SegmentTensors& tensors);
// Turns the gradient at the segment's output into the one before its activation, in place, and, if `input_gradient` is
// there, into the gradient at its input.
std::vector<compute::Op> backward_input(const Segment& segment, const SegmentTensors& tensors);
std::vector<compute::Op> backward_weight(const Segment& segment, const SegmentTensors& tensors);

}  // namespace trainyard::model
