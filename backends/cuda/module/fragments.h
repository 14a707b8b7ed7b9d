// SPDX-License-Identifier: GPL-3.0-or-later
// Products of small matrices of 16 bits, summed in fp32 by the tensor cores of a GPU. A warp of a
// team holds matrices in its registers: no thread has more than a fragment of each, and which one
// is nobody's business but that of fragments_gpu.h. On the host a warp is one thread that holds
// them whole, and rounds what the GPU rounds.
//
//   Warp                          its rank among the `count` warps of a team
//   Tile<pitch>                   a matrix of 16 bits in the team's fast memory; a row begins `pitch` numbers after the one before
//   Accumulator<rows, columns>    numbers of fp32; begins as zeros
//   Operand<T, rows, columns>     numbers of 16 bits, the left ones of a product; T is Bf16 or Fp16
//   PerRow<rows>                  a number of fp32 for each row
//
//   for_each(warp, accumulator, body)                  body(number, entry) of each number; per_row[entry] is that of its row
//   for_each(warp, accumulator, another, body)         body(number, number of the other, entry)
//   for_each(warp, per_row, body)                      body(number, entry) of each row
//   join(warp, per_row, body)                          body(a, b) of what was found in parts of a row: for sums and the like, before a row's number is right
//   speaks_for_rows(warp)                              whether this thread is the one that writes what many know of a row
//   load(warp, operand, tile)
//   rounded<T>(accumulator)                            as an operand
//   add_product(warp, accumulator, operand, tile)      accumulator += operand tile, of as many rows and columns as it takes
//   add_product_with_transposed(...)                   accumulator += operand tile^T
//   store<T>(warp, accumulator, tile)                  rounded
//   fetch(to, from)                                    a piece of 8 numbers of 16 bits from the device's memory to the team's; it may arrive later
//   arrive(team)                                       all that the team has fetched is there, and all else that it wrote to its fast memory
//   power_of_two(number)
//
// Rows and columns are multiples of 16. All threads of a warp do the same at once. Bodies run in
// any order.
#pragma once

#include "backends/cuda/module/launch.h"
#include "core/compute/compression/half.h"

namespace trainyard::cuda {

using compute::compression::Bf16;
using compute::compression::Fp16;

template <int kPitch>
struct Tile {
  std::uint16_t* at;

  ON_DEVICE std::uint16_t* operator()(int row, int column) const {
    return at + row * kPitch + column;
  }
};

// Of a number of a matrix. `slot` is where a PerRow has the number of that row.
struct Entry {
  int slot, row, column;
};

}  // namespace trainyard::cuda

#if defined(__CUDACC__)
#include "backends/cuda/module/warp_gpu.h"
// Which lane has what.
#include "backends/cuda/module/fragments_gpu.h"
#elif defined(TRAINYARD_WARP)  // of a test: its lanes are threads
#include TRAINYARD_WARP
// Which lane has what.
#include "backends/cuda/module/fragments_gpu.h"
#else
#include "backends/cuda/module/fragments_host.h"
#endif
