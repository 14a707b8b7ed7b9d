// SPDX-License-Identifier: GPL-3.0-or-later
// Limits the number of threads. Work is split into blocks whose size does not depend on the limit,
// so results do not depend on it either.
#pragma once

#include <omp.h>

#include <array>
#include <cstdint>
#include <vector>

namespace trainyard::cpu {

// Limits OpenMP regions opened by the calling thread to `cores` threads during its lifetime.
// OpenMP's thread count is per calling thread, so ranks in one process do not disturb each other.
class ThreadBound {
 public:
  explicit ThreadBound(int cores) : before_(omp_get_max_threads()) { omp_set_num_threads(cores); }
  ~ThreadBound() { omp_set_num_threads(before_); }
  ThreadBound(const ThreadBound&) = delete;
  ThreadBound& operator=(const ThreadBound&) = delete;

 private:
  int before_;
};

// Calls run(begin, end, block) for every block of `block_elements` elements.
template <class Run>
void for_blocks(int cores, std::int64_t elements, std::int64_t block_elements, const Run& run) {
  const std::int64_t blocks = (elements + block_elements - 1) / block_elements;
  const auto one = [&](std::int64_t block) {
    const std::int64_t begin = block * block_elements;
    run(begin, begin + block_elements < elements ? begin + block_elements : elements, block);
  };
  // a single thread uses no OpenMP region, because even that allocates memory
  if (cores == 1 || blocks < 2) {
    for (std::int64_t block = 0; block < blocks; ++block) one(block);
    return;
  }
#pragma omp parallel for num_threads(cores) schedule(static)
  for (std::int64_t block = 0; block < blocks; ++block) one(block);
}

constexpr std::int64_t kBlockElements = 16384;

// N sums over the elements of a tensor. Blocks are added in a fixed order.
template <std::size_t N>
class BlockSums {
 public:
  BlockSums(int cores, std::int64_t elements)
      : cores_(cores),
        elements_(elements),
        partial_(static_cast<std::size_t>((elements + kBlockElements - 1) / kBlockElements)) {}

  // Writes the sums to `total`. run(begin, end, sums) adds the contribution of a block to `sums`,
  // which start at 0.
  template <class Run>
  void operator()(const Run& run, double* total) {
    for_blocks(cores_, elements_, kBlockElements,
               [&](std::int64_t begin, std::int64_t end, std::int64_t block) {
                 auto& sums = partial_[static_cast<std::size_t>(block)];
                 sums = {};
                 run(begin, end, sums.data());
               });
    for (std::size_t n = 0; n < N; ++n) total[n] = 0;
    for (const auto& sums : partial_)
      for (std::size_t n = 0; n < N; ++n) total[n] += sums[n];
  }

 private:
  int cores_;
  std::int64_t elements_;
  std::vector<std::array<double, N>> partial_;
};

}  // namespace trainyard::cpu
