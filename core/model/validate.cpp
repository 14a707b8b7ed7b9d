// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include <algorithm>

#include "core/model/layers.h"

namespace trainyard::model {
namespace {

using base::ProblemCode;

class Judge {
 public:
  Judge(const ModelSpec& spec, std::string path)
      : layers_(spec.layers), output_(spec.output_layer()), path_(std::move(path)) {}

  void judge_layer(std::size_t i) {
    const LayerSpec& layer = layers_[i];
    if (is_activation(layer) && (i == 0 || !takes_activation(layers_[i - 1])))
      report(i, "activation_misplaced",
             "an activation must follow a linear layer, a convolution, a batch normalization or a "
             "sum",
             "linear, conv2d, batch_norm or add, then relu or tanh",
             "Put one of these layers before the activation.");
    if (is_linear(layer) && layer.units == 0 && i < output_)
      report(i, "units_not_set", "a hidden linear layer has 0 units", "1 or more",
             "Set the number of outputs of the layer.", ".units");
    if (is_linear(layer) && layer.tied && (i != output_ || !is_embedding(layers_.front())))
      report(i, "nothing_to_tie", "the layer has no embedding to be tied to",
             "the last linear layer of a model that begins with an embedding", "Set tied to false.",
             ".tied");
    if (is_bag(layer) && i > 0)
      report(i, "layer_not_first",
             "embedding_bag reads the indices of the samples, so it must be the first layer",
             "the first layer", "Move the layer before all other layers.");
    if (is_embedding(layer) && i > 0)
      report(i, "layer_not_first",
             "embedding reads the indices of the samples, so it must be the first layer",
             "the first layer", "Move the layer before all other layers.");
    if (looks_up(layer.kind) && layer.rows < 1)
      report(i, "table_without_rows", "the table has no rows", "at least 1", "", ".rows");
    if (layer.kind == LayerKind::add) judge_sum(i, layer.back);
    if (is_wide(layer) && i + 1 < layers_.size())
      report(i, "layer_not_last", "wide adds to the logits, so it must be the last layer",
             "one wide layer, at the end", "Move the layer to the end, or remove it.");
  }

  void judge_output(std::int64_t classes) {
    const LayerSpec& output = layers_[output_];
    const bool widened = output_ + 1 < layers_.size();
    if (is_wide(output))
      return report(output_, "wide_without_logits",
                    "wide adds to logits, but no layer before it computes them",
                    "after a linear layer", "Put a linear layer before the wide layer.");
    if (!is_linear(output) && widened)
      return report(output_, "output_not_linear",
                    fmt::format("the layer before the wide layer is {}, which computes no logits",
                                base::name_of(output.kind)),
                    "linear", "Add a linear layer before the wide layer.");
    if (!is_linear(output))
      return report(
          output_, "output_not_linear",
          fmt::format("the last layer is {}, which computes no logits", base::name_of(output.kind)),
          "linear", "Add a linear layer at the end.");
    if (output.units != 0 && classes > 0 && output.units != classes)
      report(output_, "units_differ_from_classes",
             fmt::format("the last layer has {} units, but the data has {} classes", output.units,
                         classes),
             std::to_string(classes), "Set units to 0, which stands for the number of classes.");
  }

  base::Problems problems;

 private:
  void judge_sum(std::size_t i, std::int64_t back) {
    if (back > static_cast<std::int64_t>(i))
      return report(i, "no_layer_to_add", "there are not that many layers before this layer",
                    i < 2 ? "a later position in the model" : fmt::format("2 to {}", i), "",
                    ".back");
    const std::size_t from = i - static_cast<std::size_t>(back);
    if (all_flatten(0, from + 1))
      return report(i, "no_layer_to_add", "the input of the model cannot be added", "a later layer",
                    "", ".back");
    if (is_activation(layers_[from + 1]))
      return report(i, "layer_overwritten",
                    fmt::format("the output of layer {} is overwritten by its activation", from),
                    fmt::format("{}, to add the output of the activation", back - 1),
                    "Add the output of the activation, or put another layer between the two.",
                    ".back");
    if (all_flatten(from + 1, i))
      report(i, "no_layer_to_add", "the layer would be added to itself", "an earlier layer", "",
             ".back");
  }

  // True if layers [first, end) only change the shape.
  bool all_flatten(std::size_t first, std::size_t end) const {
    return std::all_of(layers_.begin() + static_cast<std::ptrdiff_t>(first),
                       layers_.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const LayerSpec& layer) { return layer.kind == LayerKind::flatten; });
  }

  void report(std::size_t layer, const char* id, std::string what, std::string accepted,
              std::string advice, const char* field = "") {
    problems.push_back({id, ProblemCode::bad_input,
                        fmt::format("{}.layers[{}]{}", path_, layer, field), std::move(what),
                        std::move(accepted), std::move(advice)});
  }

  const std::vector<LayerSpec>& layers_;
  std::size_t output_;
  std::string path_;
};

}  // namespace

base::Problems validate(const ModelSpec& spec, const Shape& sample, std::int64_t classes,
                        const std::string& path) {
  if (spec.layers.empty())
    return {{"no_layers", ProblemCode::bad_input, path + ".layers", "the model has no layers",
             "at least one linear layer", "Add a linear layer."}};
  Judge judge(spec, path);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) judge.judge_layer(i);
  judge.judge_output(classes);
  if (!judge.problems.empty() || sample.dimensions == 0) return judge.problems;
  std::optional<base::Problem> problem;
  shapes(spec, sample, classes, path, problem);
  if (problem) judge.problems.push_back(std::move(*problem));
  return judge.problems;
}

}  // namespace trainyard::model
