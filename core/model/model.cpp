// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/random.h"
#include "core/model/layers.h"

namespace trainyard::model {
namespace {

using compute::Tensor;

compute::Activation activation_of(LayerKind kind) {
  return kind == LayerKind::relu ? compute::Activation::relu : compute::Activation::tanh;
}

std::string between(std::int64_t inputs, std::int64_t outputs) {
  return " " + std::to_string(inputs) + "-" + std::to_string(outputs);
}
std::string extents(std::int64_t side) {
  return " " + std::to_string(side) + "x" + std::to_string(side);
}

std::string shortened(double number) {
  std::string text = std::to_string(number);
  while (text.ends_with('0')) text.pop_back();
  return text.ends_with('.') ? text + "0" : text;
}

// Returns the part of a segment's name that describes its size, such as inputs and outputs.
std::string details(const Segment& s) {
  switch (s.kind) {
    case LayerKind::linear: return between(s.inputs_of_output(), s.channels());
    case LayerKind::embedding: return between(s.vocabulary[0], s.vocabulary[1]);
    case LayerKind::attention: return " " + std::to_string(s.heads);
    case LayerKind::conv2d:
      return between(s.input_shape[2], s.output_shape[2]) + extents(s.window.kernel);
    case LayerKind::max_pool:
    case LayerKind::average_pool: return extents(s.window.kernel);
    case LayerKind::batch_norm:
    case LayerKind::layer_norm:
    case LayerKind::rms_norm: return " " + std::to_string(s.channels());
    case LayerKind::dropout: return " " + shortened(s.probability);
    case LayerKind::embedding_bag:
    case LayerKind::wide: return between(s.table[0], s.table[1]);
    default: return "";
  }
}

class Builder {
 public:
  Builder(const ModelSpec& spec, const Shape& sample, std::int64_t classes)
      : spec_(spec), sample_(sample), classes_(classes) {}

  base::Result<Model> build() {
    if (const auto problems = validate(spec_, sample_, classes_, "model"); !problems.empty())
      return base::fail(problems.front());
    std::optional<base::Problem> none;
    shapes_ = shapes(spec_, sample_, classes_, "model", none);
    model_.features = sample_.elements();
    model_.classes = classes_;
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) add_layer(i);
    mark_accumulation();
    while (model_.segments[static_cast<std::size_t>(model_.first_with_parameters)].elements == 0)
      ++model_.first_with_parameters;
    return std::move(model_);
  }

 private:
  void add_layer(std::size_t i) {
    const LayerSpec& layer = spec_.layers[i];
    const std::string place = std::to_string(i);
    const Shape& input = i == 0 ? sample_ : shapes_[i - 1];
    if (is_activation(layer)) {
      model_.segments.back().activation = activation_of(layer.kind);
      model_.segments.back().name += " " + std::string(base::name_of(layer.kind));
    } else if (is_transformer(layer)) {
      add_blocks(layer, i, input);
    } else if (layer.kind == LayerKind::add) {
      const std::size_t added = i - static_cast<std::size_t>(layer.back);
      add_segment(layer, i, place, input, shapes_[i]).addend = segment_of_layer_[added];
      model_.segments.back().name += " " + std::to_string(added);
    } else if (layer.kind != LayerKind::flatten) {
      add_segment(layer, i, place, input, shapes_[i]);
    }
    segment_of_layer_.push_back(static_cast<int>(model_.segments.size()) - 1);
  }

  // Adds the segments of all blocks, numbered continuously: "1.0", "1.1", ...
  void add_blocks(const LayerSpec& layer, std::size_t i, Shape input) {
    const std::int64_t rows = input[0], width = input[1];
    int part = 0;
    for (std::int64_t block = 0; block < layer.blocks; ++block) {
      int came_in = static_cast<int>(model_.segments.size()) - 1;
      for (const BlockLayer& one : layers_of_block(layer, width)) {
        const Shape output{rows, one.outputs};
        const bool sums = one.layer.kind == LayerKind::add;
        Segment& segment =
            add_segment(one.layer, i, std::to_string(i) + "." + std::to_string(part++),
                        std::exchange(input, output), output);
        if (sums)
          segment.addend = std::exchange(came_in, static_cast<int>(model_.segments.size()) - 1);
      }
    }
  }

  Segment& add_segment(const LayerSpec& layer, std::size_t i, const std::string& place,
                       const Shape& input, const Shape& output) {
    Segment s;
    s.kind = layer.kind;
    s.layer = static_cast<int>(i);
    s.input_shape = input;
    s.inputs = s.input_shape.elements();
    if (is_linear(layer) && !is_sequence(s.input_shape)) s.input_shape = {s.inputs};
    s.output_shape = output;
    s.outputs = s.output_shape.elements();
    if (has_window(layer)) s.window = window_of(layer);
    s.momentum = layer.momentum;
    s.synchronized = layer.kind == LayerKind::batch_norm && layer.synchronized;
    s.probability = layer.probability;
    if (is_embedding(layer)) s.vocabulary = {layer.rows == 0 ? classes_ : layer.rows, layer.width};
    if (is_attention(layer)) s.heads = layer.heads;
    if (layer.tied) s.tied_to = 0, s.first = model_.segments.front().first;
    if (looks_up(layer.kind))
      s.slot_count = layer.slot_count,
      s.table = {layer.rows, is_bag(layer) ? layer.width : s.outputs};
    s.name = place + " " + std::string(base::name_of(layer.kind)) + details(s);
    if (s.tied_to >= 0) s.name += " tied";
    if (s.weight_shape().dimensions > 0 && s.tied_to < 0) add_parameters(s, place);
    if (s.kind == LayerKind::batch_norm) add_state(s);
    return model_.segments.emplace_back(std::move(s));
  }

  void add_parameters(Segment& s, const std::string& place) {
    const int index = static_cast<int>(model_.segments.size());
    s.first = model_.elements;
    s.elements = s.weight_shape().elements() + s.bias_elements();
    model_.parameters.push_back(
        {place + ".weight", s.weight_shape(), s.first, index, next_number()});
    const bool places = s.kind == LayerKind::embedding;
    if (s.bias_elements() > 0)
      model_.parameters.push_back({place + (places ? ".position" : ".bias"),
                                   places ? s.output_shape : Shape{s.bias_elements()},
                                   s.bias_offset(), index, next_number()});
    model_.elements += s.elements;
  }

  std::uint32_t next_number() const { return static_cast<std::uint32_t>(model_.parameters.size()); }

  void add_state(Segment& s) {
    const int index = static_cast<int>(model_.segments.size());
    s.running = model_.state_elements;
    model_.state.push_back(
        {std::to_string(s.layer) + ".running_mean", {s.channels()}, s.running, index});
    model_.state.push_back({std::to_string(s.layer) + ".running_var",
                            {s.channels()},
                            s.running + s.channels(),
                            index});
    model_.state_elements += 2 * s.channels();
  }

  // Marks the segments that must add their input gradient to an existing gradient. Gradients are
  // computed from the last segment to the first. So the last segment that uses a value writes the
  // gradient of the value, and earlier segments add to it.
  void mark_accumulation() {
    std::vector<char> written(model_.segments.size());
    for (std::size_t s = model_.segments.size(); s-- > 0;) {
      Segment& segment = model_.segments[s];
      if (s > 0) segment.accumulates = std::exchange(written[s - 1], 1) != 0;
      if (segment.addend >= 0)
        segment.addend_accumulates =
            std::exchange(written[static_cast<std::size_t>(segment.addend)], 1) != 0;
    }
  }

  const ModelSpec& spec_;
  const Shape& sample_;
  std::int64_t classes_;
  std::vector<Shape> shapes_;
  std::vector<int> segment_of_layer_;
  Model model_;
};

template <class Number>
void store(const Tensor& flat, std::int64_t offset, std::int64_t elements, Number number) {
  for (std::int64_t i = 0; i < elements; ++i) {
    if (flat.dtype == compute::DType::fp64) flat.as<double>()[offset + i] = number(i);
    else flat.as<float>()[offset + i] = static_cast<float>(number(i));
  }
}

void initialize_parameter(const Model& model, std::int64_t seed, std::size_t index,
                          const Tensor& parameters) {
  const Parameter& parameter = model.parameters[index];
  const Segment& segment = model.segments[static_cast<std::size_t>(parameter.segment)];
  const std::int64_t elements = parameter.shape.elements();
  if (segment.kind == LayerKind::wide)
    return store(parameters, parameter.offset, elements, [](std::int64_t) { return 0.0; });
  if (segment.kind == LayerKind::batch_norm || normalizes_rows(segment.kind))
    return store(
        parameters, parameter.offset, elements,
        [scale = parameter.offset == segment.first](std::int64_t) { return scale ? 1.0 : 0.0; });
  const base::Random random(static_cast<std::uint64_t>(seed), base::Purpose::initialize,
                            parameter.number);
  const std::int64_t inputs =
      segment.split == Split::inputs ? segment.split_of : segment.inputs_of_output();
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  store(parameters, parameter.offset, elements, [&](std::int64_t i) {
    return random.uniform(static_cast<std::uint64_t>(parameter.index_in_full(i)), -bound, bound);
  });
}

}  // namespace

base::Result<Model> build(const ModelSpec& spec, const Shape& sample, std::int64_t classes) {
  return Builder(spec, sample, classes).build();
}

bool Model::ties() const {
  return std::any_of(segments.begin(), segments.end(),
                     [](const Segment& segment) { return segment.tied_to >= 0; });
}

bool Model::drops() const {
  return std::any_of(segments.begin(), segments.end(),
                     [](const Segment& segment) { return segment.kind == LayerKind::dropout; });
}

void initialize(const Model& model, std::int64_t seed, const Tensor& parameters,
                const Tensor& state) {
  for (std::size_t p = 0; p < model.parameters.size() && !parameters.empty(); ++p)
    initialize_parameter(model, seed, p, parameters);
  for (std::size_t p = 0; p < model.state.size() && !state.empty(); ++p)
    store(state, model.state[p].offset, model.state[p].shape.elements(),
          [variance = p % 2 == 1](std::int64_t) { return variance ? 1.0 : 0.0; });
}

}  // namespace trainyard::model
