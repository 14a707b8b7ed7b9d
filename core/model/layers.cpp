// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/layers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace trainyard::model {
namespace {

using base::Problem;
using base::ProblemCode;
using MaybeProblem = std::optional<Problem>;

Problem at(const char* id, const std::string& where, std::string what, std::string accepted,
           std::string advice) {
  return {
      id, ProblemCode::bad_input, where, std::move(what), std::move(accepted), std::move(advice)};
}

MaybeProblem window_problem(const LayerSpec& layer, const Shape& input, const std::string& where) {
  const std::string kind(base::name_of(layer.kind));
  if (input.dimensions != 3)
    return at(
        "layer_needs_image", where,
        fmt::format("{} needs an image, but its input has the shape {}", kind, to_text(input)),
        "height x width x channels",
        "Move the layer before flatten and linear, or choose data that are images.");
  const compute::Window window = window_of(layer);
  if (is_pool(layer) && 2 * window.padding > window.kernel)
    return at("padding_too_large", where + ".padding",
              fmt::format("the padding of {} is more than half the kernel of {}", window.padding,
                          window.kernel),
              fmt::format("0 to {}", window.kernel / 2), "");
  const std::int64_t largest = std::min(input[0], input[1]) + 2 * window.padding;
  if (window.kernel > largest)
    return at("kernel_too_large", where + ".kernel",
              fmt::format("a window of {0} x {0} exceeds the input image of {1}", window.kernel,
                          to_text(input)),
              fmt::format("1 to {}", largest),
              "Lower the kernel, add padding, or use fewer pooling layers before this layer.");
  return {};
}

MaybeProblem sum_problem(const Shape& input, const Shape& added, const std::string& where) {
  if (input == added) return {};
  return at("shapes_differ", where + ".back",
            fmt::format("the added layer has the shape {}, but the input has the shape {}",
                        to_text(added), to_text(input)),
            "a layer of equal shape",
            "All layers between the two need the same number of channels, a stride of 1, and "
            "padding that keeps the size.");
}

MaybeProblem table_problem(const LayerSpec& layer, const Shape& sample, const std::string& where) {
  if (sample.dimensions != 1)
    return at("layer_needs_columns", where,
              fmt::format("{} needs a row of columns, but its input is an image of {}",
                          base::name_of(layer.kind), to_text(sample)),
              "a row of columns", "Choose data with columns of indices.");
  if (layer.slot_count <= sample[0]) return {};
  return at("too_many_slots", where + ".slots",
            fmt::format("the layer looks up {} columns, but samples have {}", layer.slot_count,
                        to_text(sample)),
            fmt::format("1 to {}", to_text(sample)), "");
}

MaybeProblem heads_problem(std::int64_t heads, std::int64_t width, const std::string& where) {
  if (width % heads == 0) return {};
  return at("heads_not_divisible", where + ".heads",
            fmt::format("{} elements cannot be divided evenly among {} heads", width, heads),
            fmt::format("a divisor of {}", width),
            "Change the number of heads or the width of the layer.");
}

MaybeProblem no_sequence(const LayerSpec& layer, const Shape& input, const std::string& where) {
  if (is_sequence(input)) return {};
  return at("layer_needs_sequence", where,
            fmt::format("{} needs a sequence, but its input has the shape {}",
                        base::name_of(layer.kind), to_text(input)),
            "rows x elements",
            "Begin with an embedding, and choose data that are sequences: text or grammar.");
}

MaybeProblem attention_problem(const LayerSpec& layer, const Shape& input,
                               const std::string& where) {
  if (auto problem = no_sequence(layer, input, where)) return problem;
  if (is_transformer(layer)) return heads_problem(layer.heads, input[1], where);
  if (input[1] % 3 == 0) return heads_problem(layer.heads, input[1] / 3, where);
  return at(
      "attention_input", where,
      fmt::format("rows of {} elements cannot be divided into query, key and value", input[1]),
      "a multiple of 3",
      "Put a linear layer before this layer, with three times as many units as the embedding "
      "dimension.");
}

MaybeProblem tied_problem(const LayerSpec& embedding, const Shape& input, std::int64_t classes,
                          const std::string& where) {
  if (!is_sequence(input) || input[1] != embedding.width)
    return at(
        "tied_shapes_differ", where,
        fmt::format("the layer is tied to an embedding of dimension {}, but its input has the "
                    "shape {}",
                    embedding.width, to_text(input)),
        fmt::format("rows of {} elements", embedding.width),
        "Use the embedding dimension in all layers before this layer.");
  if (embedding.rows == 0 || classes == 0 || embedding.rows == classes) return {};
  return at("tied_rows_differ", where,
            fmt::format("the layer is tied to an embedding with {} rows, but there are {} classes",
                        embedding.rows, classes),
            "a row for each class",
            "Set the embedding's rows to 0, which stands for the number of classes.");
}

MaybeProblem embedding_problem(const Shape& sample, const std::string& where) {
  if (sample.dimensions == 1) return {};
  return at(
      "embedding_without_sequences", where,
      fmt::format("embedding needs indices, but its input is an image of {}", to_text(sample)),
      "a row of indices", "Choose text or grammar as data.");
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

// 2^53. Larger JSON numbers are not always exact integers.
constexpr double kMaxNumbers = 9007199254740992;

double numbers_of(const Shape& shape) {
  double numbers = 1;
  for (int i = 0; i < shape.dimensions; ++i) numbers *= static_cast<double>(shape[i]);
  return numbers;
}

// Returns the number of multiplications for one sample in the linear layers and the attention of
// one transformer block.
double work_of_block(double rows, double width, double hidden) {
  return rows * width * (4 * width + 2 * hidden) + 2 * rows * rows * width;
}

// Returns the number of multiplications of a layer for one sample, or of its outputs if that is
// larger. The result is floating-point, so that nothing overflows.
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
    const std::string where = fmt::format("{}.layers[{}]", path, i);
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
    if (work += work_of(layer, input, output); work > kMaxNumbers)
      problem = at("model_too_large", where, "the model has too many multiplications to count",
                   "at most 2^53 multiplications per sample", "Use smaller layers.");
    list.push_back(output);
    if (problem) return list;
  }
  return list;
}

}  // namespace trainyard::model
