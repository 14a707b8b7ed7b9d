// SPDX-License-Identifier: GPL-3.0-or-later
// Properties of single layers in the list of layers, and the shapes between layers.
#pragma once

#include <optional>
#include <string>

#include "core/model/model.h"

namespace trainyard::model {

inline bool is_linear(const LayerSpec& layer) { return layer.kind == LayerKind::linear; }
inline bool is_activation(const LayerSpec& layer) {
  return layer.kind == LayerKind::relu || layer.kind == LayerKind::tanh;
}
inline bool is_pool(const LayerSpec& layer) {
  return layer.kind == LayerKind::max_pool || layer.kind == LayerKind::average_pool;
}
inline bool has_window(const LayerSpec& layer) {
  return layer.kind == LayerKind::conv2d || is_pool(layer);
}
inline bool is_embedding(const LayerSpec& layer) { return layer.kind == LayerKind::embedding; }
inline bool is_attention(const LayerSpec& layer) { return layer.kind == LayerKind::attention; }
inline bool is_transformer(const LayerSpec& layer) { return layer.kind == LayerKind::transformer; }
inline bool is_bag(const LayerSpec& layer) { return layer.kind == LayerKind::embedding_bag; }
inline bool is_wide(const LayerSpec& layer) { return layer.kind == LayerKind::wide; }
inline bool takes_activation(const LayerSpec& layer) {
  return is_linear(layer) || layer.kind == LayerKind::conv2d ||
         layer.kind == LayerKind::batch_norm || layer.kind == LayerKind::add;
}

// Returns the sliding window of a convolution or pool. A stride of 0 is replaced by the default.
compute::Window window_of(const LayerSpec& layer);

std::string to_text(const Shape& sample);  // "28 x 28 x 1", "784"

// True if the sample is a sequence, that is, rows of numbers. Linear layers are applied to each
// row.
inline bool is_sequence(const Shape& sample) { return sample.dimensions == 2; }

// One layer of a transformer block, whose rows have `width` numbers.
struct BlockLayer {
  LayerSpec layer;
  std::int64_t outputs = 0;  // Numbers per row.
};
// Returns the layers of a pre-norm transformer block as in GPT-2 (Radford et al. 2019): y = x +
// linear(attention(linear(layer_norm(x)))), then y + linear(gelu(linear(layer_norm(y)))). Each
// residual `add` adds the input of its half of the block: x or y.
std::vector<BlockLayer> layers_of_block(const LayerSpec& transformer, std::int64_t width);

// Returns the output shape of each layer, up to the first layer that does not fit its input. That
// layer is reported in `problem`, at its field. All other rules must hold for the list.
std::vector<Shape> shapes(const ModelSpec& spec, const Shape& sample, std::int64_t classes,
                          const std::string& path, std::optional<base::Problem>& problem);

}  // namespace trainyard::model
