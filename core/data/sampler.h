// SPDX-License-Identifier: GPL-3.0-or-later
// Selects the samples of each step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/data/shares.h"

namespace trainyard::data {

// Orders each epoch by one global permutation f(seed, epoch). With even shares, a global batch is
// the next slice of the permutation, and a rank's part is a slice of the batch. So one device and n
// ranks see the same samples in the same step. If ranks own samples, each takes its samples in the
// order of the same permutation. In both cases every index is used exactly once per epoch.
class Sampler {
 public:
  Sampler(std::int64_t seed, std::int64_t samples, std::int64_t batch_per_rank, std::int64_t ranks)
      : Sampler(seed, Shares::even(samples, batch_per_rank, ranks), {}) {}
  // `owners`: rank of each sample, consistent with the shares; empty if shares are even.
  Sampler(std::int64_t seed, Shares shares, std::vector<std::int32_t> owners);

  const Shares& shares() const { return shares_; }
  // Returns the indices of `rank`'s part of `step`, in order. Valid until the next call; not
  // thread-safe.
  std::span<const std::int64_t> indices(std::int64_t step, std::int64_t rank);

 private:
  void permute_epoch(std::int64_t epoch);

  std::int64_t seed_;
  Shares shares_;
  std::vector<std::int32_t> owners_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> order_,
      permutation_;  // order_: order of the epoch; with owners, sorted by rank.
  // Used only if each rank owns samples. starts_: index in order_ of each rank's first sample;
  // places_: scratch counters.
  std::vector<std::int64_t> starts_, places_;
};

}  // namespace trainyard::data
