// SPDX-License-Identifier: GPL-3.0-or-later
// What a layer of the list is by itself, and the shapes between layers.
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

// With its stride of 0 replaced.
compute::Window window_of(const LayerSpec& layer);

std::string to_text(const Shape& sample);  // "28 x 28 x 1", "784"

// Whether it is a sequence: rows of numbers, of which linear layers take each by itself.
inline bool is_sequence(const Shape& sample) { return sample.dimensions == 2; }

// A layer of a block of a transformer, on rows of `width` numbers.
struct BlockPart {
  LayerSpec layer;
  std::int64_t outputs = 0;  // numbers of a row
};
// x + linear(attention(linear(layer_norm(x)))), then y + linear(gelu(linear(layer_norm(y)))): as in
// GPT-2 (Radford et al. 2019), normalised first. Of an `add` the other summand is what came into
// its half of the block.
std::vector<BlockPart> parts_of_block(const LayerSpec& transformer, std::int64_t width);

// The shapes that come out of the layers, one a layer, up to the first at which something does not
// fit: that is said in `problem`, at its field. For a list that is in order otherwise.
std::vector<Shape> shapes(const ModelSpec& spec, const Shape& sample, std::int64_t classes,
                          const std::string& path, std::optional<base::Problem>& problem);

}  // namespace trainyard::model
