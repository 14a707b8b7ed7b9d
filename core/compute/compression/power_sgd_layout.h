// SPDX-License-Identifier: GPL-3.0-or-later
// Layout of PowerSGD for a bucket: which parameters are sent as two thin matrices, and where these
// are in the payloads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::compute::compression {

// Parameter in the bucket, as a matrix [rows, columns]; a vector is [1, columns].
struct Matrix {
  // `first`: index of the parameter's first element in the bucket.
  std::int64_t first = 0, rows = 0, columns = 0;
};

struct PowerSgdBlock {
  Matrix matrix;
  // Number of columns of the thin matrices. 0: the parameter is sent uncompressed, because the thin
  // matrices would not be smaller.
  std::int64_t rank = 0;
  std::int64_t left =
      0;  // Offset, in the first collective, of P [rows, rank] or of the uncompressed matrix.
  std::int64_t right = 0;  // Offset of Q [columns, rank] in the second collective.

  std::int64_t left_elements() const {
    return rank > 0 ? matrix.rows * rank : matrix.rows * matrix.columns;
  }
  std::int64_t right_elements() const { return matrix.columns * rank; }
};

struct PowerSgdLayout {
  std::vector<PowerSgdBlock> blocks;
  std::int64_t elements = 0;  // Number of elements of the bucket.
  std::int64_t left_elements = 0, right_elements = 0;
};

// Returns the layout. The matrices must be contiguous and cover the bucket.
inline PowerSgdLayout power_sgd_layout(std::span<const Matrix> matrices, std::int64_t rank) {
  PowerSgdLayout layout;
  for (const Matrix& m : matrices) {
    const std::int64_t thin = std::min({rank, m.rows, m.columns});
    const bool worth = m.rows > 1 && thin * (m.rows + m.columns) < m.rows * m.columns;
    const PowerSgdBlock& block = layout.blocks.emplace_back(
        PowerSgdBlock{m, worth ? thin : 0, layout.left_elements, layout.right_elements});
    layout.elements += m.rows * m.columns;
    layout.left_elements += block.left_elements();
    layout.right_elements += block.right_elements();
  }
  return layout;
}

}  // namespace trainyard::compute::compression
