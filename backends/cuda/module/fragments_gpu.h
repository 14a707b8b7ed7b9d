// SPDX-License-Identifier: GPL-3.0-or-later
// Assignment of matrix elements to the lanes of a warp, in the PTX layout of mma.m16n8k16. See
// fragments.h. The instructions are in warp_gpu.h, or, in a test, in its substitute.
#pragma once

namespace trainyard::cuda {

// Layout of a block of 16 x 8 numbers, of which a lane has four. The first two are adjacent in a
// row, and so are the last two; the two rows are 8 apart.
ON_DEVICE constexpr int row_of(int lane, int number) { return lane / 4 + number / 2 * 8; }
ON_DEVICE constexpr int column_of(int lane, int number) { return lane % 4 * 2 + number % 2; }

template <int kRows, int kColumns>
struct Accumulator {
  float of[kRows / 16][kColumns / 8][4] = {};
};

// A 16 x 16 block of a matrix as its quarters: upper left, lower left, upper right, lower right.
struct Block {
  std::uint32_t quarters[4];
};

template <class T, int kRows, int kColumns>
struct Operand {
  Block of[kRows / 16][kColumns / 16];
};

// One value for each row of a matrix. Of each 16 rows, a lane has the values of two; four lanes
// have the same values.
template <int kRows>
struct PerRow {
  float of[kRows / 8];

  IN_REGISTERS float& operator[](const Entry& entry) { return of[entry.slot]; }
  IN_REGISTERS const float& operator[](const Entry& entry) const { return of[entry.slot]; }
};

// Calls body(i, j, number) for each number of an accumulator that the lane holds, in column
// block j (8 columns) of row block i (16 rows).
template <int kRows, int kColumns, class Body>
IN_REGISTERS void for_each_element(const Body& body) {
  unrolled<kRows / 16>([&](int i) {
    unrolled<kColumns / 8>([&](int j) { unrolled<4>([&](int number) { body(i, j, number); }); });
  });
}

// Calls body(i, j) for each 16 x 16 block (i, j) of a matrix.
template <int kRows, int kColumns, class Body>
IN_REGISTERS void for_blocks(const Body& body) {
  unrolled<kRows / 16>([&](int i) { unrolled<kColumns / 16>([&](int j) { body(i, j); }); });
}

IN_REGISTERS Entry entry_of(const Warp& warp, int i, int j, int number) {
  return {2 * i + number / 2, 16 * i + row_of(warp.lane, number),
          8 * j + column_of(warp.lane, number)};
}

template <int kRows, int kColumns, class Body>
IN_REGISTERS void for_each(const Warp& warp, Accumulator<kRows, kColumns>& numbers,
                           const Body& body) {
  for_each_element<kRows, kColumns>([&](int i, int j, int number) {
    body(numbers.of[i][j][number], entry_of(warp, i, j, number));
  });
}

template <int kRows, int kColumns, class Body>
IN_REGISTERS void for_each(const Warp& warp, Accumulator<kRows, kColumns>& numbers,
                           Accumulator<kRows, kColumns>& others, const Body& body) {
  for_each_element<kRows, kColumns>([&](int i, int j, int number) {
    body(numbers.of[i][j][number], others.of[i][j][number], entry_of(warp, i, j, number));
  });
}

template <int kRows, class Body>
IN_REGISTERS void for_each(const Warp& warp, PerRow<kRows>& numbers, const Body& body) {
  unrolled<kRows / 8>([&](int slot) {
    body(numbers.of[slot], Entry{slot, slot / 2 * 16 + row_of(warp.lane, slot % 2 * 2), 0});
  });
}

template <int kRows, class Body>
IN_REGISTERS void join(const Warp& warp, PerRow<kRows>& numbers, const Body& body) {
  unrolled<kRows / 8>([&](int slot) {
    float& number = numbers.of[slot];
    number = body(number, of_other(warp, number, 1));
    number = body(number, of_other(warp, number, 2));
  });
}

IN_REGISTERS bool is_row_leader(const Warp& warp) { return warp.lane % 4 == 0; }

// Loads the 16 x 16 block at (row, column). Each quarter may be transposed.
template <int kPitch>
IN_REGISTERS Block load_block(const Warp& warp, Tile<kPitch> tile, int row, int column,
                              bool transposed) {
  Block block;
  load_matrices(warp, block.quarters, tile(row + warp.lane % 16, column + warp.lane / 16 * 8),
                transposed);
  return block;
}

template <class T, int kRows, int kColumns, int kPitch>
IN_REGISTERS void load(const Warp& warp, Operand<T, kRows, kColumns>& operand, Tile<kPitch> tile) {
  for_blocks<kRows, kColumns>(
      [&](int i, int j) { operand.of[i][j] = load_block(warp, tile, 16 * i, 16 * j, false); });
}

// Rounds an accumulator to an operand. A lane has the same elements of both, so no data moves
// between lanes.
template <class T, int kRows, int kColumns>
IN_REGISTERS Operand<T, kRows, kColumns> rounded(const Accumulator<kRows, kColumns>& numbers) {
  Operand<T, kRows, kColumns> operand;
  for_blocks<kRows, kColumns>([&](int i, int j) {
    unrolled<4>([&](int q) {
      const float(&half)[4] = numbers.of[i][2 * j + q / 2];
      operand.of[i][j].quarters[q] = pair<T>(half[q % 2 * 2], half[q % 2 * 2 + 1]);
    });
  });
  return operand;
}

// Adds the product with `right`, block by block. If `right` is [k, n], its quarters are loaded
// transposed; if it is transposed, they are not.
template <bool kTransposed, class T, int kRows, int kColumns, int kInner, int kPitch>
IN_REGISTERS void add_products(const Warp& warp, Accumulator<kRows, kColumns>& sums,
                               const Operand<T, kRows, kInner>& left, Tile<kPitch> right) {
  for_blocks<kInner, kColumns>([&](int k, int n) {
    const Block block = kTransposed ? load_block(warp, right, 16 * n, 16 * k, false)
                                    : load_block(warp, right, 16 * k, 16 * n, true);
    const auto& q = block.quarters;
    unrolled<kRows / 16>([&](int i) {
      multiply<T>(warp, sums.of[i][2 * n], left.of[i][k].quarters, q[0], kTransposed ? q[2] : q[1]);
      multiply<T>(warp, sums.of[i][2 * n + 1], left.of[i][k].quarters, kTransposed ? q[1] : q[2],
                  q[3]);
    });
  });
}

template <class T, int kRows, int kColumns, int kInner, int kPitch>
IN_REGISTERS void add_product(const Warp& warp, Accumulator<kRows, kColumns>& sums,
                              const Operand<T, kRows, kInner>& left, Tile<kPitch> right) {
  add_products<false>(warp, sums, left, right);
}

template <class T, int kRows, int kColumns, int kInner, int kPitch>
IN_REGISTERS void add_product_with_transposed(const Warp& warp, Accumulator<kRows, kColumns>& sums,
                                              const Operand<T, kRows, kInner>& left,
                                              Tile<kPitch> right) {
  add_products<true>(warp, sums, left, right);
}

template <class T, int kRows, int kColumns, int kPitch>
IN_REGISTERS void store(const Warp& warp, const Accumulator<kRows, kColumns>& numbers,
                        Tile<kPitch> tile) {
  for_each_element<kRows, kColumns>([&](int i, int j, int number) {
    if (number % 2 != 0) return;
    const Entry entry = entry_of(warp, i, j, number);
    *reinterpret_cast<std::uint32_t*>(tile(entry.row, entry.column)) =
        pair<T>(numbers.of[i][j][number], numbers.of[i][j][number + 1]);
  });
}

}  // namespace trainyard::cuda
