// SPDX-License-Identifier: GPL-3.0-or-later
// PowerSGD of a bucket: which of its parameters are sent as two thin matrices, and where these lie
// in what travels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::compute::compression {

// A parameter in the bucket: [rows, columns], of a vector [1, columns].
struct Matrix {
  std::int64_t first = 0, rows = 0, columns = 0;  // `first`: elements from the bucket's start
};

struct PowerSgdBlock {
  Matrix matrix;
  std::int64_t rank = 0;  // columns of the thin matrices; 0: it travels as it is, which is no
                          // longer than they would be
  std::int64_t left =
      0;  // where P [rows, rank], or the matrix itself, begins in the first collective
  std::int64_t right = 0;  // where Q [columns, rank] begins in the second

  std::int64_t left_elements() const {
    return rank > 0 ? matrix.rows * rank : matrix.rows * matrix.columns;
  }
  std::int64_t right_elements() const { return matrix.columns * rank; }
};

struct PowerSgdLayout {
  std::vector<PowerSgdBlock> blocks;
  std::int64_t elements = 0;  // of the bucket
  std::int64_t left_elements = 0, right_elements = 0;
};

// The matrices follow each other and fill the bucket.
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
