// SPDX-License-Identifier: GPL-3.0-or-later
// The `model` part of an experiment: a list of layers, ending in a softmax cross-entropy loss over the classes.
#pragma once

#include <vector>

#include "core/base/fields.h"

namespace trainyard::model {

enum class LayerKind { linear, relu, tanh };

struct LayerSpec {
  LayerKind kind = LayerKind::linear;
  std::int64_t units = 0;  // linear: outputs; 0: as many as there are classes

  bool operator==(const LayerSpec&) const = default;
};

struct ModelSpec {
  std::vector<LayerSpec> layers{{LayerKind::linear, 128}, {LayerKind::relu, 0}, {LayerKind::linear, 0}};

  bool operator==(const ModelSpec&) const = default;
};

}  // namespace trainyard::model

template <>
struct trainyard::base::Names<trainyard::model::LayerKind> {
  using K = trainyard::model::LayerKind;
  static constexpr std::pair<K, std::string_view> table[] = {{K::linear, "linear"}, {K::relu, "relu"}, {K::tanh, "tanh"}};
};
template <>
struct trainyard::base::Fields<trainyard::model::LayerSpec> {
  using L = trainyard::model::LayerSpec;
  static constexpr std::string_view title = "Layer";
  static auto table() {
    return std::tuple{field("kind", &L::kind, "", {}, "What the layer computes"),
                      field("units", &L::units, "units", {0, 1 << 20}, "Outputs of a linear layer; 0: as many as there are classes",
                            [](const L& l) { return l.kind == trainyard::model::LayerKind::linear; })};
  }
};
template <>
struct trainyard::base::Fields<trainyard::model::ModelSpec> {
  using M = trainyard::model::ModelSpec;
  static constexpr std::string_view title = "Model";
  static auto table() {
    return std::tuple{field("layers", &M::layers, "", {1, 1000}, "Layers from input to output; a softmax cross-entropy loss follows the last")};
  }
};
