// SPDX-License-Identifier: GPL-3.0-or-later
// Transfers of head rows between device and shared memory, for 16-bit attention by tensor cores.
// Rows in shared memory are padded, so that vertically adjacent numbers use different banks. Rows
// beyond the head's last row and columns beyond its width are zeros.
#pragma once

#include "backends/cuda/module/fragments.h"
#include "backends/cuda/module/kernels/attention_heads.h"

namespace trainyard::cuda {

inline constexpr int kPiece = 8;   // numbers per transfer
inline constexpr int kStrip = 16;  // least number of rows in a tensor-core product
inline constexpr int kWarps = 4;   // per team (thread block)
inline constexpr int kTileThreads = 32 * kWarps;
inline constexpr float kLog2OfE = 1.44269504F;  // exp(x) = 2^(x log2 e)

template <int kWidth>
using TileOf = Tile<kWidth + kPiece>;

template <int kWidth>
constexpr int numbers_of(int rows) {
  return rows * (kWidth + kPiece);
}

// Rows of one head in a tensor. `pieces` is false if rows do not begin at multiples of kPiece
// numbers; they are then copied number by number.
struct HeadRows {
  std::uint16_t* begin;
  std::int64_t stride, rows, width;
  bool pieces;
};

ON_DEVICE inline HeadRows rows_of(const Heads& of, const Tensor& tensor, Projection part,
                                  std::int64_t head) {
  const bool alone = part == Projection::output;
  const std::int64_t first =
      alone ? of.output(head, 0)
            : of.query(head, 0) + static_cast<std::int64_t>(part) * of.together;
  return {as<std::uint16_t>(tensor) + first, (alone ? 1 : 3) * of.together, of.rows, of.width,
          reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0};
}

struct alignas(2 * kPiece) Piece {
  std::uint16_t numbers[kPiece];
};

// Calls body(row, column) for each piece (kAtOnce numbers) of a tile. The threads of a team divide
// the pieces among them.
template <int kColumns, int kAtOnce, class Body>
IN_REGISTERS void for_all(const Team& team, int rows, const Body& body) {
  constexpr int kOfRow = kColumns / kAtOnce;
  rolled(team.rank, rows * kOfRow, team.size,
         [&](int k) { body(k / kOfRow, k % kOfRow * kAtOnce); });
}

// Fetches `rows` rows of a head, from `first` on. They are available after arrive().
template <int kWidth>
IN_REGISTERS void fetch_rows(const Team& team, const HeadRows& from, std::int64_t first, int rows,
                             TileOf<kWidth> to) {
  const auto there = [&](int row, int column) {
    return first + row < from.rows && column < from.width;
  };
  const std::uint16_t* const begin = from.begin + first * from.stride;
  if (from.pieces)
    return for_all<kWidth, kPiece>(team, rows, [&](int row, int column) {
      if (there(row, column)) fetch(to(row, column), begin + row * from.stride + column);
      else *reinterpret_cast<Piece*>(to(row, column)) = {};
    });
  for_all<kWidth, 1>(team, rows, [&](int row, int column) {
    *to(row, column) = there(row, column) ? begin[row * from.stride + column] : std::uint16_t{0};
  });
}

template <int kWidth>
IN_REGISTERS void write_rows(const Team& team, TileOf<kWidth> from, int rows, const HeadRows& to,
                             std::int64_t first) {
  const auto there = [&](int row, int column) {
    return first + row < to.rows && column < to.width;
  };
  std::uint16_t* const begin = to.begin + first * to.stride;
  if (to.pieces)
    return for_all<kWidth, kPiece>(team, rows, [&](int row, int column) {
      if (there(row, column))
        *reinterpret_cast<Piece*>(begin + row * to.stride + column) =
            *reinterpret_cast<const Piece*>(from(row, column));
    });
  for_all<kWidth, 1>(team, rows, [&](int row, int column) {
    if (there(row, column)) begin[row * to.stride + column] = *from(row, column);
  });
}

// Returns the dot product of row `row` of two matrices of the same width.
template <class T>
ON_DEVICE float dot(const HeadRows& a, const HeadRows& b, std::int64_t row) {
  const std::uint16_t *const left = a.begin + row * a.stride, *const right =
                                                                  b.begin + row * b.stride;
  float sum = 0;
  if (!a.pieces || !b.pieces) {
    for (std::int64_t w = 0; w < a.width; ++w) sum += T::decode(left[w]) * T::decode(right[w]);
    return sum;
  }
  for (std::int64_t w = 0; w < a.width; w += kPiece) {
    const Piece one = *reinterpret_cast<const Piece*>(left + w),
                other = *reinterpret_cast<const Piece*>(right + w);
    for (int k = 0; k < kPiece; ++k) sum += T::decode(one.numbers[k]) * T::decode(other.numbers[k]);
  }
  return sum;
}

// Two matrices of a head that are streamed together through shared memory, kRows rows of each at a
// time. They are double-buffered: one buffer is filled while the team works on the other.
template <int kWidth, int kRows>
struct StreamedRows {
  static constexpr int kNumbers = 4 * numbers_of<kWidth>(kRows);
  HeadRows left_rows, right_rows;
  TileOf<kWidth> buffers;

  ON_DEVICE TileOf<kWidth> left(int buffer) const { return {buffers(2 * buffer * kRows, 0)}; }
  ON_DEVICE TileOf<kWidth> right(int buffer) const {
    return {buffers((2 * buffer + 1) * kRows, 0)};
  }
  IN_REGISTERS void get(const Team& team, std::int64_t first, int buffer) const {
    fetch_rows<kWidth>(team, left_rows, first, kRows, left(buffer));
    fetch_rows<kWidth>(team, right_rows, first, kRows, right(buffer));
  }
};

// Runs a double-buffered loop over tiles: calls get(first, buffer), then work(first, buffer), for
// the tiles that begin at `first`, first + step, ... below `end`.
template <class Get, class Work>
IN_REGISTERS void for_tiles(const Team& team, std::int64_t first, std::int64_t end, int step,
                            const Get& get, const Work& work) {
  get(first, 0);
  for (int buffer = 0; first < end; first += step, buffer ^= 1) {
    arrive(team);  // also ensures that the other buffer is no longer in use
    if (first + step < end) get(first + step, buffer ^ 1);
    work(first, buffer);
  }
  team.sync();
}

// Calls body(strip) for the strips of a team's tile, each by one warp, in parallel if there are
// enough warps. Extra warps get strip numbers of kWarps or more, and only help to fetch.
template <class Body>
IN_REGISTERS void for_strips(const Warp& warp, const Body& body) {
  for (int strip = warp.rank; strip - warp.rank < kWarps; strip += warp.count) body(strip);
}

}  // namespace trainyard::cuda
