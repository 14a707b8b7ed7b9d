// SPDX-License-Identifier: GPL-3.0-or-later
// Host version of fragments.h: a warp is one thread, which holds full matrices.
#pragma once

#include <cmath>
#include <cstring>

namespace trainyard::cuda {

struct Warp {
  int rank, count;
};

inline Warp warp_of(const Team& team) { return {team.rank, team.size}; }

template <int kRows, int kColumns>
struct Accumulator {
  float of[kRows][kColumns] = {};
};

// Left factor of a product. Its numbers are already rounded to values of T.
template <class T, int kRows, int kColumns>
struct Operand {
  float of[kRows][kColumns];
};

template <int kRows>
struct PerRow {
  float of[kRows];

  float& operator[](const Entry& entry) { return of[entry.slot]; }
  const float& operator[](const Entry& entry) const { return of[entry.slot]; }
};

template <int kRows, int kColumns, class Body>
void for_each(const Warp&, Accumulator<kRows, kColumns>& numbers, const Body& body) {
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column)
      body(numbers.of[row][column], Entry{row, row, column});
}

template <int kRows, int kColumns, class Body>
void for_each(const Warp&, Accumulator<kRows, kColumns>& numbers,
              Accumulator<kRows, kColumns>& others, const Body& body) {
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column)
      body(numbers.of[row][column], others.of[row][column], Entry{row, row, column});
}

template <int kRows, class Body>
void for_each(const Warp&, PerRow<kRows>& numbers, const Body& body) {
  for (int row = 0; row < kRows; ++row) body(numbers.of[row], Entry{row, row, 0});
}

// Combines partial values of rows over the lanes of a warp. Does nothing here, because the only
// thread has already processed full rows.
template <int kRows, class Body>
void join(const Warp&, PerRow<kRows>&, const Body&) {}

inline bool is_row_leader(const Warp&) { return true; }

template <class T, int kRows, int kColumns, int kPitch>
void load(const Warp&, Operand<T, kRows, kColumns>& operand, Tile<kPitch> tile) {
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column)
      operand.of[row][column] = T::decode(*tile(row, column));
}

template <class T, int kRows, int kColumns>
Operand<T, kRows, kColumns> rounded(const Accumulator<kRows, kColumns>& numbers) {
  Operand<T, kRows, kColumns> operand;
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column)
      operand.of[row][column] = T::decode(T::encode(numbers.of[row][column]));
  return operand;
}

// Adds the product of `left` and `right` to the sums. Each sum is accumulated in order of k.
template <class T, int kRows, int kColumns, int kInner, class Right>
void add_products(Accumulator<kRows, kColumns>& sums, const Operand<T, kRows, kInner>& left,
                  const Right& right) {
  for (int k = 0; k < kInner; ++k) {
    float of_row[kColumns];
    for (int column = 0; column < kColumns; ++column) of_row[column] = T::decode(*right(k, column));
    for (int row = 0; row < kRows; ++row)
      for (int column = 0; column < kColumns; ++column)
        sums.of[row][column] += left.of[row][k] * of_row[column];
  }
}

template <class T, int kRows, int kColumns, int kInner, int kPitch>
void add_product(const Warp&, Accumulator<kRows, kColumns>& sums,
                 const Operand<T, kRows, kInner>& left, Tile<kPitch> right) {
  add_products(sums, left, right);
}

template <class T, int kRows, int kColumns, int kInner, int kPitch>
void add_product_with_transposed(const Warp&, Accumulator<kRows, kColumns>& sums,
                                 const Operand<T, kRows, kInner>& left, Tile<kPitch> right) {
  add_products(sums, left, [&](int row, int column) { return right(column, row); });
}

template <class T, int kRows, int kColumns, int kPitch>
void store(const Warp&, const Accumulator<kRows, kColumns>& numbers, Tile<kPitch> tile) {
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column)
      *tile(row, column) = T::encode(numbers.of[row][column]);
}

inline void fetch(std::uint16_t* to, const std::uint16_t* from) { std::memcpy(to, from, 16); }
inline void arrive(const Team& team) { team.sync(); }
inline float power_of_two(float number) { return std::exp2(number); }

}  // namespace trainyard::cuda
