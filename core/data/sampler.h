// SPDX-License-Identifier: GPL-3.0-or-later
// Which samples a step takes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/data/shares.h"

namespace trainyard::data {

// Orders each epoch by one global permutation f(seed, epoch). Where all share, step by step, a
// global batch is its next slice, and a rank's part a slice of that: one device and n ranks see the
// same samples in the same step. Where ranks own samples, each takes its own in the order of the
// same permutation. Either way every index is used exactly once an epoch.
class Sampler {
 public:
  Sampler(std::int64_t seed, std::int64_t samples, std::int64_t batch_per_rank, std::int64_t ranks)
      : Sampler(seed, Shares::even(samples, batch_per_rank, ranks), {}) {}
  // `owners`: the rank of each sample, as many of each as the shares say; empty where they are
  // even.
  Sampler(std::int64_t seed, Shares shares, std::vector<std::int32_t> owners);

  const Shares& shares() const { return shares_; }
  // The indices of `rank`'s part of `step`, in order. Valid until the next call; one thread.
  std::span<const std::int64_t> indices(std::int64_t step, std::int64_t rank);

 private:
  void deal(std::int64_t epoch);

  std::int64_t seed_;
  Shares shares_;
  std::vector<std::int32_t> owners_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_,
      permutation_;  // order_: of the epoch; with owners, rank after rank
  std::vector<std::int64_t> starts_,
      places_;  // with owners: where each rank's begin in order_; room to count in
};

}  // namespace trainyard::data
