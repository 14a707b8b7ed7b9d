// SPDX-License-Identifier: GPL-3.0-or-later
// Operations of the 32 lanes of a warp, in PTX (NVIDIA, "Parallel Thread Execution ISA": mma,
// ldmatrix, cp.async). GPUs support them since 2020 (Ampere).
#pragma once

#include <type_traits>

#include "backends/cuda/module/fragments.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "GPUs before compute capability 8.0 have no such products"
#endif

namespace trainyard::cuda {

struct Warp {
  int rank, count, lane;
};

IN_REGISTERS Warp warp_of(const Team& team) {
  return {team.rank / kWarp, team.size / kWarp, team.rank % kWarp};
}

IN_REGISTERS unsigned in_fast_memory(const void* place) {
  return static_cast<unsigned>(__cvta_generic_to_shared(place));
}

// Loads four 8 x 8 matrices. Lane 8 m + r passes the address of row r of matrix m. Lane l receives
// elements 2 (l mod 4) and 2 (l mod 4) + 1 of row l / 4 of each matrix; if transposed, of column l
// / 4.
IN_REGISTERS void load_matrices(const Warp&, std::uint32_t (&to)[4], const std::uint16_t* row,
                                bool transposed) {
  const unsigned place = in_fast_memory(row);
  if (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(place));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(place));
}

// Computes sums [16,8] += left [16,16] right [16,8].
template <class T>
IN_REGISTERS void multiply(const Warp&, float (&sums)[4], const std::uint32_t (&left)[4],
                           std::uint32_t upper, std::uint32_t lower) {
  if constexpr (std::is_same_v<T, Bf16>)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(upper), "r"(lower));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(upper), "r"(lower));
}

// Packs two numbers of 16 bits; the first is in the lower half.
template <class T>
IN_REGISTERS std::uint32_t pair(float first, float second) {
  std::uint32_t both = 0;
  if constexpr (std::is_same_v<T, Bf16>)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}

IN_REGISTERS float of_other(const Warp&, float own, int other) {
  return __shfl_xor_sync(~0U, own, other);
}

IN_REGISTERS void fetch(std::uint16_t* to, const std::uint16_t* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(in_fast_memory(to)), "l"(from)
               : "memory");
}

IN_REGISTERS void arrive(const Team& team) {
  asm volatile("cp.async.wait_all;" ::: "memory");
  team.sync();
}

IN_REGISTERS float power_of_two(float number) {
  float power = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(number));
  return power;
}

}  // namespace trainyard::cuda
