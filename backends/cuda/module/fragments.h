// SPDX-License-Identifier: GPL-3.0-or-later
// Products of small 16-bit matrices with fp32 sums, by the tensor cores of a GPU. A warp of a team
// (thread block) holds matrices in its registers. Each thread has a fragment of each matrix; only
// fragments_gpu.h knows which elements. On the host a warp is a single thread that holds full
// matrices, with the same rounding.
//
// Types:
//   Warp                        rank of the warp among the `count` warps of a team
//   Tile<pitch>                 16-bit matrix in shared memory; `pitch` is its row stride
//   Accumulator<rows, columns>  fp32 matrix, initially zero
//   Operand<T, rows, columns>   16-bit left factor of a product; T is Bf16 or Fp16
//   PerRow<rows>                one fp32 number per row
//
// Functions:
//   for_each(warp, accumulator, body)            body(number, entry) for each number;
//                                                per_row[entry] is the value of its row
//   for_each(warp, accumulator, another, body)   body(number, number of another, entry)
//   for_each(warp, per_row, body)                body(number, entry) for each row
//   join(warp, per_row, body)                    combines partial values of each row over
//                                                lanes by body(a, b), for example sums
//   is_row_leader(warp)                        true for the one thread that writes a
//                                                per-row value held by several threads
//   load(warp, operand, tile)
//   rounded<T>(accumulator)                      returns it as an operand
//   add_product(warp, accumulator, operand, tile)
//                                                accumulator += operand tile
//   add_product_with_transposed(...)             accumulator += operand tile^T
//   store<T>(warp, accumulator, tile)            rounds and stores
//   fetch(to, from)                              copies 8 numbers of 16 bits from device
//                                                to shared memory, asynchronously
//   arrive(team)                                 waits for all fetches and other writes
//                                                of the team to shared memory
//   power_of_two(number)
//
// A product reads as many rows and columns of the tile as its operand and accumulator need; both
// numbers are multiples of 16. All threads of a warp make the same call together. Functions passed
// as `body` are called in any order.
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

// Position of a number in a matrix. `slot` is the index of the number's row in a PerRow (one value
// per row).
struct Entry {
  int slot, row, column;
};

}  // namespace trainyard::cuda

#if defined(__CUDACC__)
#include "backends/cuda/module/warp_gpu.h"
// Defines which lane of a warp holds which numbers of a matrix.
#include "backends/cuda/module/fragments_gpu.h"
#elif defined(TRAINYARD_WARP)  // for a test that runs lanes as threads
#include TRAINYARD_WARP
// Defines which lane of a warp holds which numbers of a matrix.
#include "backends/cuda/module/fragments_gpu.h"
#else
#include "backends/cuda/module/fragments_host.h"
#endif
