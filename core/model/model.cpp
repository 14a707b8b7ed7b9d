// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model.h"

#include <cmath>

#include "core/base/random.h"

namespace trainyard::model {
namespace {

using base::Problem;
using base::ProblemCode;
using compute::Tensor;

bool is_linear(const LayerSpec& layer) { return layer.kind == LayerKind::linear; }

compute::Activation activation_of(LayerKind kind) {
  return kind == LayerKind::relu ? compute::Activation::relu : kind == LayerKind::tanh ? compute::Activation::tanh : compute::Activation::none;
}

Tensor part(const Tensor& flat, std::int64_t offset, compute::Shape shape) {
  if (flat.empty()) return {};
  return {flat.dtype, shape, flat.data + offset * compute::size_of(flat.dtype)};
}

Tensor weight(const Segment& s, const Tensor& flat) { return part(flat, s.first, {s.outputs, s.inputs}); }
Tensor bias(const Segment& s, const Tensor& flat) { return part(flat, s.bias_offset(), {s.outputs}); }

void add_segment(Model& model, std::size_t layer, std::int64_t inputs, std::int64_t outputs) {
  const int index = static_cast<int>(model.segments.size());
  Segment segment{std::to_string(layer) + " linear " + std::to_string(inputs) + "-" + std::to_string(outputs),
                  inputs,
                  outputs,
                  compute::Activation::none,
                  model.elements,
                  inputs * outputs + outputs};
  model.parameters.push_back({std::to_string(layer) + ".weight", {outputs, inputs}, segment.first, index});
  model.parameters.push_back({std::to_string(layer) + ".bias", {outputs}, segment.bias_offset(), index});
  model.elements += segment.elements;
  model.segments.push_back(std::move(segment));
}

}  // namespace

base::Problems validate(const ModelSpec& spec, std::int64_t classes, const std::string& path) {
  base::Problems problems;
  const auto report = [&](std::size_t layer, std::string what, std::string accepted, std::string advice) {
    problems.push_back({ProblemCode::bad_input, path + ".layers[" + std::to_string(layer) + "]", std::move(what), std::move(accepted), std::move(advice)});
  };
  if (spec.layers.empty()) {
    problems.push_back({ProblemCode::bad_input, path + ".layers", "the model has no layers", "at least one linear layer", "Add a linear layer."});
    return problems;
  }
  for (std::size_t i = 0; i < spec.layers.size(); ++i)
    if (!is_linear(spec.layers[i]) && (i == 0 || !is_linear(spec.layers[i - 1])))
      report(i, "an activation must follow a linear layer", "linear, then relu or tanh", "Put a linear layer before it.");
  const std::size_t last = spec.layers.size() - 1;
  const LayerSpec& output = spec.layers[last];
  if (!is_linear(output)) return report(last, "the last layer must be linear", "linear", "Add a linear layer at the end."), problems;
  if (output.units != 0 && classes > 0 && output.units != classes)
    report(last, "the last layer has " + std::to_string(output.units) + " units, but the data has " + std::to_string(classes) + " classes",
           std::to_string(classes), "Use 0 units: as many as there are classes.");
  for (std::size_t i = 0; i < last; ++i)
    if (is_linear(spec.layers[i]) && spec.layers[i].units == 0) report(i, "a hidden linear layer needs units", "at least 1", "");
  return problems;
}

base::Result<Model> build(const ModelSpec& spec, std::int64_t features, std::int64_t classes) {
  if (const auto problems = validate(spec, classes, "model"); !problems.empty()) return base::fail(problems.front());
  Model model{features, classes, {}, {}, 0};
  std::int64_t inputs = features;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& layer = spec.layers[i];
    if (is_linear(layer)) {
      const std::int64_t outputs = layer.units == 0 ? classes : layer.units;
      add_segment(model, i, inputs, outputs);
      inputs = outputs;
    } else {
      model.segments.back().activation = activation_of(layer.kind);
      model.segments.back().name += " " + std::string(base::name_of(layer.kind));
    }
  }
  return model;
}

void initialise(const Model& model, std::int64_t seed, const Tensor& parameters) {
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    const Parameter& parameter = model.parameters[p];
    const base::Random random(static_cast<std::uint64_t>(seed), base::Purpose::initialise, static_cast<std::uint32_t>(p));
    const double bound = 1.0 / std::sqrt(static_cast<double>(model.segments[static_cast<std::size_t>(parameter.segment)].inputs));
    for (std::int64_t i = 0; i < parameter.shape.elements(); ++i) {
      const double value = random.uniform(static_cast<std::uint64_t>(i), -bound, bound);
      if (parameters.dtype == compute::DType::fp64) parameters.as<double>()[parameter.offset + i] = value;
      else parameters.as<float>()[parameter.offset + i] = static_cast<float>(value);
    }
  }
}

std::vector<compute::Op> forward(const Segment& s, const SegmentTensors& t) {
  return {compute::LinearForward{t.input, weight(s, t.parameters), bias(s, t.parameters), t.output, s.activation}};
}

std::vector<compute::Op> backward_input(const Segment& s, const SegmentTensors& t) {
  std::vector<compute::Op> ops;
  if (s.activation != compute::Activation::none) ops.emplace_back(compute::ActivationBackward{t.output, t.output_gradient, s.activation});
  if (!t.input_gradient.empty()) ops.emplace_back(compute::LinearBackwardInput{t.output_gradient, weight(s, t.parameters), t.input_gradient});
  return ops;
}

std::vector<compute::Op> backward_weight(const Segment& s, const SegmentTensors& t) {
  return {compute::LinearBackwardWeight{t.input, t.output_gradient, weight(s, t.gradients), bias(s, t.gradients), t.squared_norm}};
}

}  // namespace trainyard::model
