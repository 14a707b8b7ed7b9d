// SPDX-License-Identifier: GPL-3.0-or-later
// A warp whose 32 lanes are threads: the instructions of backends/cuda/module/warp_gpu.h as
// NVIDIA's "Parallel Thread Execution ISA" defines them (ldmatrix; mma, "Matrix Fragments for
// mma.m16n8k16"). So what fragments_gpu.h makes of them runs where there is no GPU. One team at a
// time.
#pragma once

#include <array>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstring>

#include "backends/cuda/module/fragments.h"

namespace trainyard::cuda {

inline constexpr int kLanes = 32, kMostWarps = 2;

// Data that lanes exchange: four registers per lane, and a memory address.
struct Shown {
  std::barrier<> meet{kLanes};
  std::array<std::array<std::uint32_t, 4>, kLanes> left;
  std::array<std::array<std::uint32_t, 2>, kLanes> right;
  std::array<const std::uint16_t*, kLanes> rows;
  std::array<float, kLanes> numbers;
};
inline std::array<Shown, kMostWarps> of_warps;

struct Warp {
  int rank, count, lane;

  Shown& shown() const { return of_warps[static_cast<std::size_t>(rank)]; }
};

inline Warp warp_of(const Team& team) {
  return {team.rank / kLanes, team.size / kLanes, team.rank % kLanes};
}

// Shows what a lane has, lets it look at what the others have, and waits until all have looked.
template <class Show, class Look>
void exchange(const Warp& warp, const Show& show, const Look& look) {
  Shown& shown = warp.shown();
  show(shown, static_cast<std::size_t>(warp.lane));
  shown.meet.arrive_and_wait();
  look(shown);
  shown.meet.arrive_and_wait();
}

inline std::uint32_t both(std::uint16_t first, std::uint16_t second) {
  return first | static_cast<std::uint32_t>(second) << 16;
}

// "Threads 0-7, 8-15, 16-23 and 24-31 give the rows of the first to the fourth matrix; thread T has
// of each a row's T / 4 elements 2 (T % 4) and the next."
inline void load_matrices(const Warp& warp, std::uint32_t (&to)[4], const std::uint16_t* row,
                          bool transposed) {
  exchange(
      warp, [&](Shown& shown, std::size_t lane) { shown.rows[lane] = row; },
      [&](const Shown& shown) {
        for (std::size_t m = 0; m < 4; ++m) {
          const auto element = [&](int r, int c) {
            return shown
                .rows[8 * m + static_cast<std::size_t>(transposed ? c : r)][transposed ? r : c];
          };
          to[m] = both(element(warp.lane / 4, warp.lane % 4 * 2),
                       element(warp.lane / 4, warp.lane % 4 * 2 + 1));
        }
      });
}

template <class T>
float element_of(std::uint32_t two, int which) {
  return T::decode(static_cast<std::uint16_t>(two >> 16 * which));
}

// Row and column of a lane's element i, with group = lane / 4 and member = lane % 4. Of A: row
// group, or group + 8 for i = 2, 3, 6, 7; column 2 member + i % 2, and 8 more from i = 4 on. Of B:
// row 2 member + i % 2, and 8 more from i = 2 on; column group. Of C: row group, and 8 more from i
// = 2 on; column 2 member + i % 2.
template <class T>
float of_left(const Shown& shown, int row, int column) {
  const int lane = row % 8 * 4 + column % 8 / 2, i = column % 2 + row / 8 * 2 + column / 8 * 4;
  return element_of<T>(shown.left[static_cast<std::size_t>(lane)][static_cast<std::size_t>(i / 2)],
                       i % 2);
}
template <class T>
float of_right(const Shown& shown, int row, int column) {
  const int lane = column * 4 + row % 8 / 2, i = row % 2 + row / 8 * 2;
  return element_of<T>(shown.right[static_cast<std::size_t>(lane)][static_cast<std::size_t>(i / 2)],
                       i % 2);
}

template <class T>
void multiply(const Warp& warp, float (&sums)[4], const std::uint32_t (&left)[4],
              std::uint32_t upper, std::uint32_t lower) {
  exchange(
      warp,
      [&](Shown& shown, std::size_t lane) {
        shown.left[lane] = {left[0], left[1], left[2], left[3]};
        shown.right[lane] = {upper, lower};
      },
      [&](const Shown& shown) {
        for (int i = 0; i < 4; ++i) {
          const int row = warp.lane / 4 + (i < 2 ? 0 : 8), column = warp.lane % 4 * 2 + i % 2;
          for (int k = 0; k < 16; ++k)
            sums[i] += of_left<T>(shown, row, k) * of_right<T>(shown, k, column);
        }
      });
}

template <class T>
std::uint32_t pair(float first, float second) {
  return both(T::encode(first), T::encode(second));
}

inline float of_other(const Warp& warp, float own, int other) {
  float its = 0;
  exchange(
      warp, [&](Shown& shown, std::size_t lane) { shown.numbers[lane] = own; },
      [&](const Shown& shown) {
        its = shown.numbers[static_cast<std::size_t>(warp.lane ^ other)];
      });
  return its;
}

inline void fetch(std::uint16_t* to, const std::uint16_t* from) { std::memcpy(to, from, 16); }
inline void arrive(const Team& team) { team.sync(); }
inline float power_of_two(float number) { return std::exp2(number); }

}  // namespace trainyard::cuda
