// SPDX-License-Identifier: GPL-3.0-or-later
// Where the heads of attention lie in its tensors.
#pragma once

#include "backends/cuda/module/device.h"
#include "backends/cuda/module/numbers.h"

namespace trainyard::cuda {

// The heads of an op, and how they are cut.
struct Heads {
  std::int64_t rows, width, together, heads;  // T, D/H, D, H
  std::int64_t tile;                          // rows of one

  // From a row to the next in fast memory: one more than it has numbers, so that threads which read
  // a column each have a bank of their own.
  ON_DEVICE constexpr std::int64_t pitch() const { return width + 1; }
  ON_DEVICE constexpr std::int64_t tiles() const { return (rows + tile - 1) / tile; }
  // Which head, counted over samples, and which tile of it a team has.
  ON_DEVICE constexpr std::int64_t head(std::int64_t team) const { return team / tiles(); }
  ON_DEVICE constexpr std::int64_t first_row(std::int64_t team) const {
    return team % tiles() * tile;
  }
  // Of a row of a head: its query in the input (key and value lie D and 2 D further), and its
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

enum class Part : std::uint8_t { query, key, value, output };

}  // namespace trainyard::cuda
