// SPDX-License-Identifier: GPL-3.0-or-later
// Per-channel sums over the rows of a tensor. The last dimension of the tensor is the channels.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/cpu/threads.h"
#include "core/compute/tensor.h"

namespace trainyard::cpu {

inline std::int64_t columns_of(const compute::Tensor& tensor) {
  return tensor.shape[tensor.shape.dimensions - 1];
}

// Returns the number of rows in a block. A block has about kBlockElements elements, whatever the
// number of cores.
inline std::int64_t block_rows(const compute::Tensor& tensor) {
  return std::max<std::int64_t>(1, kBlockElements / columns_of(tensor));
}

// Computes two sums per channel over the rows of a tensor. The sums of blocks of rows are added in
// a fixed order.
class ChannelSums {
 public:
  ChannelSums(const compute::Tensor& tensor, int cores)
      : cores_(cores),
        rows_(tensor.elements() / columns_of(tensor)),
        block_rows_(block_rows(tensor)),
        width_(static_cast<std::size_t>(2 * columns_of(tensor))),
        partial_(static_cast<std::size_t>((rows_ + block_rows_ - 1) / block_rows_) * width_) {}

  std::int64_t rows() const { return rows_; }

  // Writes the sums per channel to `total`. Calls run(begin, end, sums) for blocks of rows; it must
  // add the contribution of rows [begin, end) to `sums`.
  template <class Run>
  void operator()(const Run& run, double* total) {
    std::fill(partial_.begin(), partial_.end(), 0.0);
    for_blocks(cores_, rows_, block_rows_,
               [&](std::int64_t begin, std::int64_t end, std::int64_t block) {
                 run(begin, end, partial_.data() + static_cast<std::size_t>(block) * width_);
               });
    std::fill_n(total, width_, 0.0);
    for (std::size_t i = 0; i < partial_.size(); ++i) total[i % width_] += partial_[i];
  }

 private:
  int cores_;
  std::int64_t rows_, block_rows_;
  std::size_t width_;
  std::vector<double> partial_;
};

}  // namespace trainyard::cpu
