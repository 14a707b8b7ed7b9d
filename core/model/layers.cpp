// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/layers.h"

#include <algorithm>
#include <cmath>

namespace trainyard::model {
namespace {

using base::Problem;
using base::ProblemCode;
using MaybeProblem = std::optional<Problem>;

Problem at(const std::string& where, std::string what, std::string accepted, std::string advice) {
  return {"bad_layer",     ProblemCode::bad_input, where,
          std::move(what), std::move(accepted),    std::move(advice)};
}

MaybeProblem window_problem(const LayerSpec& layer, const Shape& input, const std::string& where) {
  const std::string kind(base::name_of(layer.kind));
  if (input.dimensions != 3)
    return at(where, kind + " takes images, but " + to_text(input) + " features come in",
              "height x width x channels",
              "Put it before flatten and linear, or choose data that are images.");
  const compute::Window window = window_of(layer);
  if (is_pool(layer) && 2 * window.padding > window.kernel)
    return at(where + ".padding",
              "a padding of " + std::to_string(window.padding) +
                  " is more than half the kernel of " + std::to_string(window.kernel),
              "0 to " + std::to_string(window.kernel / 2), "");
  const std::int64_t largest = std::min(input[0], input[1]) + 2 * window.padding;
  if (window.kernel > largest)
    return at(where + ".kernel",
              "a window of " + std::to_string(window.kernel) + " x " +
                  std::to_string(window.kernel) + " does not fit the image of " + to_text(input) +
                  " that comes in",
              "1 to " + std::to_string(largest),
              "Lower the kernel, add padding, or pool less before it.");
  return {};
}

MaybeProblem sum_problem(const Shape& input, const Shape& added, const std::string& where) {
  if (input == added) return {};
  return at(
      where + ".back", "adds " + to_text(added) + " to the " + to_text(input) + " that come in",
      "a layer of equal shape",
      "Give the layers between them as many channels, stride 1, and padding that keeps the size.");
}

MaybeProblem table_problem(const LayerSpec& layer, const Shape& sample, const std::string& where) {
  if (sample.dimensions != 1)
    return at(where,
              std::string(base::name_of(layer.kind)) + " takes rows of columns, but images of " +
                  to_text(sample) + " come in",
              "a row of columns", "Choose data with columns of indices.");
  if (layer.slot_count <= sample[0]) return {};
  return at(where + ".slots",
            "looks up " + std::to_string(layer.slot_count) + " columns, but samples have " +
                to_text(sample),
            "1 to " + to_text(sample), "");
}

MaybeProblem heads_problem(std::int64_t heads, std::int64_t width, const std::string& where) {
  if (width % heads == 0) return {};
  return at(where + ".heads",
            std::to_string(heads) + " heads cannot share rows of " + std::to_string(width) +
                " numbers evenly",
            "a divisor of " + std::to_string(width), "");
}

MaybeProblem no_sequence(const LayerSpec& layer, const Shape& input, const std::string& where) {
  if (is_sequence(input)) return {};
  return at(where,
            std::string(base::name_of(layer.kind)) + " takes a sequence, but " + to_text(input) +
                " numbers come in",
            "rows x numbers",
            "Begin with an embedding, on data that are sequences: text or grammar.");
}

MaybeProblem attention_problem(const LayerSpec& layer, const Shape& input,
                               const std::string& where) {
  if (auto problem = no_sequence(layer, input, where)) return problem;
  if (is_transformer(layer)) return heads_problem(layer.heads, input[1], where);
  if (input[1] % 3 == 0) return heads_problem(layer.heads, input[1] / 3, where);
  return at(where,
            "rows of " + std::to_string(input[1]) +
                " numbers come in, which are not query, key and value of one size",
            "a multiple of 3",
            "Put a linear layer before it, of three times as many units as the rows of the model "
            "have numbers.");
}

MaybeProblem tied_problem(const LayerSpec& embedding, const Shape& input, std::int64_t classes,
                          const std::string& where) {
  if (!is_sequence(input) || input[1] != embedding.width)
    return at(where,
              "is tied to an embedding of rows of " + std::to_string(embedding.width) +
                  " numbers, but " + to_text(input) + " come in",
              "rows of " + std::to_string(embedding.width) + " numbers",
              "Let the layers before it keep the width.");
  if (embedding.rows == 0 || classes == 0 || embedding.rows == classes) return {};
  return at(where,
            "is tied to an embedding of " + std::to_string(embedding.rows) +
                " rows, and there are " + std::to_string(classes) + " classes",
            "a row for each class", "Set rows of the embedding to 0.");
}

MaybeProblem embedding_problem(const Shape& sample, const std::string& where) {
  if (sample.dimensions == 1) return {};
  return at(
      where,
      "embedding takes numbers of a vocabulary, but images of " + to_text(sample) + " come in",
      "a row of numbers", "Choose text or grammar as data.");
}

Shape slid(const LayerSpec& layer, const Shape& image) {
  const compute::Window window = window_of(layer);
  return {window.outputs(image[0]), window.outputs(image[1]),
          layer.kind == LayerKind::conv2d ? layer.channels : image[2]};
}

Shape output_shape(const LayerSpec& layer, const Shape& input, std::int64_t classes) {
  if (has_window(layer)) return slid(layer, input);
  const std::int64_t units = layer.units == 0 ? classes : layer.units;
  if (is_linear(layer)) return is_sequence(input) ? Shape{input[0], units} : Shape{units};
  if (is_embedding(layer)) return {input[0], layer.width};
  if (is_attention(layer)) return {input[0], input[1] / 3};
  if (layer.kind == LayerKind::flatten) return {input.elements()};
  if (is_bag(layer)) return {layer.width + input[0] - layer.slot_count};
  return input;
}

}  // namespace

compute::Window window_of(const LayerSpec& layer) {
  const std::int64_t stride = layer.stride > 0 ? layer.stride : is_pool(layer) ? layer.kernel : 1;
  return {layer.kernel, stride, layer.padding};
}

std::vector<BlockLayer> layers_of_block(const LayerSpec& transformer, std::int64_t width) {
  const std::int64_t hidden = transformer.hidden > 0 ? transformer.hidden : 4 * width;
  return {{{.kind = LayerKind::layer_norm}, width},
          {{.kind = LayerKind::linear}, 3 * width},
          {{.kind = LayerKind::attention, .heads = transformer.heads}, width},
          {{.kind = LayerKind::linear}, width},
          {{.kind = LayerKind::add}, width},
          {{.kind = LayerKind::layer_norm}, width},
          {{.kind = LayerKind::linear}, hidden},
          {{.kind = LayerKind::gelu}, hidden},
          {{.kind = LayerKind::linear}, width},
          {{.kind = LayerKind::add}, width}};
}

std::string to_text(const Shape& sample) {
  std::string text;
  for (int i = 0; i < sample.dimensions; ++i)
    text += (i > 0 ? " x " : "") + std::to_string(sample[i]);
  return text;
}

namespace {

constexpr double kMostNumbers = 9007199254740992;  // 2^53: the largest exact integer in JSON.

double numbers_of(const Shape& shape) {
  double numbers = 1;
  for (int i = 0; i < shape.dimensions; ++i) numbers *= static_cast<double>(shape[i]);
  return numbers;
}

// Products of the linear layers and the attention of a block.
double work_of_block(double rows, double width, double hidden) {
  return rows * width * (4 * width + 2 * hidden) + 2 * rows * rows * width;
}

// Returns the products of a sample, or its outputs if these are more. Floating point, so that
// nothing overflows.
double work_of(const LayerSpec& layer, const Shape& input, const Shape& output) {
  const double outputs = numbers_of(output);
  if (layer.kind == LayerKind::conv2d)
    return outputs * static_cast<double>(input[2]) * std::pow(static_cast<double>(layer.kernel), 2);
  if (is_linear(layer))
    return outputs * (is_sequence(input) ? static_cast<double>(input[1]) : numbers_of(input));
  if (!is_transformer(layer)) return outputs;
  const auto rows = static_cast<double>(input[0]), width = static_cast<double>(input[1]);
  return static_cast<double>(layer.blocks) *
         work_of_block(rows, width,
                       layer.hidden > 0 ? static_cast<double>(layer.hidden) : 4 * width);
}

}  // namespace

std::vector<Shape> shapes(const ModelSpec& spec, const Shape& sample, std::int64_t classes,
                          const std::string& path, MaybeProblem& problem) {
  std::vector<Shape> list;
  double work = 0;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const LayerSpec& layer = spec.layers[i];
    const Shape& input = i == 0 ? sample : list.back();
    const std::string where = path + ".layers[" + std::to_string(i) + "]";
    if (has_window(layer)) problem = window_problem(layer, input, where);
    if (is_attention(layer) || is_transformer(layer))
      problem = attention_problem(layer, input, where);
    if (is_embedding(layer)) problem = embedding_problem(input, where);
    if (is_linear(layer) && layer.tied)
      problem = tied_problem(spec.layers.front(), input, classes, where + ".tied");
    if (looks_up(layer.kind)) problem = table_problem(layer, sample, where);
    if (layer.kind == LayerKind::add)
      problem = sum_problem(input, list[i - static_cast<std::size_t>(layer.back)], where);
    if (problem) return list;
    const Shape output = output_shape(layer, input, classes);
    if (work += work_of(layer, input, output); work > kMostNumbers)
      problem = at(where, "makes the model too large: its products can no longer be counted",
                   "at most 2^53 products a sample", "Give it less to make, or to read.");
    list.push_back(output);
    if (problem) return list;
  }
  return list;
}

}  // namespace trainyard::model
