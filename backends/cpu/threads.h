// SPDX-License-Identifier: GPL-3.0-or-later
// Loops over blocks, with a limited number of threads. The size of blocks does not depend on the
// limit, so the results do not depend on it either.
#pragma once

#include <omp.h>

#include <array>
#include <cstdint>
#include <vector>

namespace trainyard::cpu {

// While an object of this class exists, OpenMP regions of the thread that created it use up to
// `cores` threads. OpenMP has this limit per thread, so ranks in one process do not affect each
// other.
class ThreadBound {
 public:
  explicit ThreadBound(int cores) : before_(omp_get_max_threads()) { omp_set_num_threads(cores); }
  ~ThreadBound() { omp_set_num_threads(before_); }
  ThreadBound(const ThreadBound&) = delete;
  ThreadBound& operator=(const ThreadBound&) = delete;

 private:
  int before_;
};

// Calls run(begin, end, block) for every block of `block_elements` elements. The last block may be
// shorter.
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

// Computes N sums over the elements of a tensor. The sums of blocks are added in a fixed order.
template <std::size_t N>
class BlockSums {
 public:
  BlockSums(int cores, std::int64_t elements)
      : cores_(cores),
        elements_(elements),
        partial_(static_cast<std::size_t>((elements + kBlockElements - 1) / kBlockElements)) {}

  // Writes the sums to `total`. Calls run(begin, end, sums) for each block; it must add the block's
  // contribution to `sums`, which start at 0.
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
