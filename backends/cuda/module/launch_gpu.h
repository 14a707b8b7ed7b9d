// SPDX-License-Identifier: GPL-3.0-or-later
// GPU version of launch.h: a team is a thread block, and its shared memory is that of the block.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/result.h"

#define ON_DEVICE __device__
// Marks functions on arrays that must stay in registers. Inlining prevents a spill to local memory.
#define IN_REGISTERS __device__ __forceinline__

namespace trainyard::cuda {

// Bytes of shared memory that a block may use on every GPU since 2020 (Ampere).
inline constexpr std::int64_t kTeamMemory = std::int64_t{96} << 10;
inline constexpr int kThreads = 256;                 // per block
inline constexpr std::int64_t kMaxBlocks = 1 << 20;  // if there is more work, blocks loop over it
inline constexpr int kWarp = 32;
inline constexpr int kSmallTeam = kWarp;  // the team size with the cheapest reductions

// Calls body(i) for each i in [0, kCount), unrolled: indices of register arrays must be
// compile-time constants.
template <int kCount, class Body>
IN_REGISTERS void unrolled(const Body& body) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) body(i);
}
// Calls body(i) for first, first + step, ... below `end`. The loop is not unrolled, because
// registers are scarcer than time for the loop.
template <class Body>
IN_REGISTERS void rolled(int first, int end, int step, const Body& body) {
#pragma unroll 1
  for (int i = first; i < end; i += step) body(i);
}

// Stream on which kernels are launched. CUDA reports launch errors later; the queue checks for
// them.
struct Stream {
  cudaStream_t handle = nullptr;
  std::optional<base::Problem> refused;  // first error that a library reported immediately
};

// Returns the rounded product. Prevents the compiler from fusing it with a following addition
// (FMA).
__device__ inline float rounded_product(float a, float b) { return __fmul_rn(a, b); }

// Reads a value that another team wrote, bypassing the L1 cache, which may hold an older value.
__device__ inline double load_uncached(const double& place) { return __ldcg(&place); }

// Adds atomically.
__device__ inline void atomic_add(std::int32_t& sum, std::int32_t more) { atomicAdd(&sum, more); }

struct Ranked {
  double value;
  std::int64_t place;
};

struct Team {
  int rank, size;
  std::byte* memory;

  __device__ void sync() const { __syncthreads(); }

  // Reductions over the threads of a team. All threads must call them together, and each gets the
  // result. The order of sums is fixed.
  __device__ double sum(double own) const {
    __shared__ double of_warps[kThreads / kWarp];
    for (int other = kWarp / 2; other > 0; other /= 2) own += __shfl_xor_sync(~0U, own, other);
    if (rank % kWarp == 0) of_warps[rank / kWarp] = own;
    __syncthreads();
    double all = 0;
    for (int warp = 0; warp < size / kWarp; ++warp) all += of_warps[warp];
    __syncthreads();  // all threads have read `of_warps` before the next call writes it
    return all;
  }
  // Returns the sum of `own` over all threads of lower rank.
  __device__ std::int64_t sum_before(std::int64_t own) const {
    __shared__ long long of_warps[kThreads / kWarp];
    long long sum = own;  // inclusive sum within the warp
    for (int back = 1; back < kWarp; back *= 2) {
      const long long other = __shfl_up_sync(~0U, sum, back);
      if (rank % kWarp >= back) sum += other;
    }
    if (rank % kWarp == kWarp - 1) of_warps[rank / kWarp] = sum;
    __syncthreads();
    sum -= own;
    for (int warp = 0; warp < rank / kWarp; ++warp) sum += of_warps[warp];
    __syncthreads();  // all threads have read `of_warps` before the next call writes it
    return sum;
  }
  // True on the team that calls this last. The writes of all other teams are then visible.
  // `arrived` is 0 before the first and after the last call.
  __device__ bool is_last(std::uint32_t& arrived, std::int64_t teams) const {
    __shared__ bool last;
    if (rank == 0) {
      __threadfence();
      last =
          atomicInc(&arrived, static_cast<unsigned>(teams - 1)) == static_cast<unsigned>(teams - 1);
      __threadfence();
    }
    __syncthreads();
    const bool answer = last;
    __syncthreads();  // all threads have read `last` before the next call writes it
    return answer;
  }
  // Returns the maximum over all threads; of equal values, the one with the lowest index.
  __device__ Ranked first_maximum(Ranked own) const {
    __shared__ Ranked of_warps[kThreads / kWarp];
    for (int other = kWarp / 2; other > 0; other /= 2)
      own = first(own, {__shfl_xor_sync(~0U, own.value, other),
                        static_cast<std::int64_t>(
                            __shfl_xor_sync(~0U, static_cast<long long>(own.place), other))});
    if (rank % kWarp == 0) of_warps[rank / kWarp] = own;
    __syncthreads();
    Ranked all = of_warps[0];
    for (int warp = 1; warp < size / kWarp; ++warp) all = first(all, of_warps[warp]);
    __syncthreads();  // all threads have read `of_warps` before the next call writes it
    return all;
  }

 private:
  __device__ static Ranked first(Ranked a, Ranked b) {
    return b.value > a.value || (b.value == a.value && b.place < a.place) ? b : a;
  }
};

template <class Body>
__global__ void __launch_bounds__(kThreads) run_each(std::int64_t count, Body body) {
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                     stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = first; i < count; i += stride) body(i);
}

template <int kOfTeam, class Body>
__global__ void __launch_bounds__(kOfTeam) run_teams(std::int64_t count, Body body) {
  extern __shared__ __align__(64) std::byte memory[];
  const Team team{static_cast<int>(threadIdx.x), kOfTeam, memory};
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    body(team, i);
    __syncthreads();
  }
}

template <class Body>
void for_each(Stream& stream, std::int64_t count, const Body& body) {
  if (count <= 0) return;
  const std::int64_t blocks = std::min(kMaxBlocks, (count + kThreads - 1) / kThreads);
  run_each<<<static_cast<unsigned>(blocks), kThreads, 0, stream.handle>>>(count, body);
}

template <int kOfTeam = kThreads, class Body>
void for_teams(Stream& stream, std::int64_t count, std::int64_t bytes, const Body& body) {
  static_assert(kOfTeam <= kThreads && kOfTeam % kWarp == 0);
  if (count <= 0) return;
  const auto kernel = run_teams<kOfTeam, Body>;
  if (bytes > 48 << 10)
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(bytes));
  kernel<<<static_cast<unsigned>(std::min(kMaxBlocks, count)), kOfTeam,
           static_cast<std::size_t>(bytes), stream.handle>>>(count, body);
}

inline void clear(Stream& stream, void* memory, std::int64_t bytes) {
  if (bytes > 0) cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), stream.handle);
}

}  // namespace trainyard::cuda
