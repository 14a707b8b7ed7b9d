// SPDX-License-Identifier: GPL-3.0-or-later
// Layout of attention heads in their tensors.
#pragma once

#include "backends/cuda/module/device.h"
#include "backends/cuda/module/numbers.h"

namespace trainyard::cuda {

// Sizes of the heads of an attention op, and of their tiles.
struct Heads {
  std::int64_t rows, width, together, heads;  // T, D/H, D, H
  std::int64_t tile;                          // rows per tile

  // Row stride in shared memory: one more than the width, so that threads that read a column use
  // different banks.
  ON_DEVICE constexpr std::int64_t pitch() const { return width + 1; }
  ON_DEVICE constexpr std::int64_t tiles() const { return (rows + tile - 1) / tile; }
  // Work of a team (thread block): the index of its head, over all samples, and the first row of
  // its tile.
  ON_DEVICE constexpr std::int64_t head(std::int64_t team) const { return team / tiles(); }
  ON_DEVICE constexpr std::int64_t first_row(std::int64_t team) const {
    return team % tiles() * tile;
  }
  // Indices of a row's query in the input (its key and value are D and 2 D further), and of its
  // output.
  ON_DEVICE constexpr std::int64_t query(std::int64_t head, std::int64_t row) const {
    return (head / heads * rows + row) * 3 * together + head % heads * width;
  }
  ON_DEVICE constexpr std::int64_t output(std::int64_t head, std::int64_t row) const {
    return (head / heads * rows + row) * together + head % heads * width;
  }
};

inline Heads heads_of(const Tensor& input, std::int64_t heads, std::int64_t tile) {
  return {input.shape[1], input.shape[2] / 3 / heads, input.shape[2] / 3, heads, tile};
}

enum class Projection : std::uint8_t { query, key, value, output };

}  // namespace trainyard::cuda
