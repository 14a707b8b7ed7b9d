// SPDX-License-Identifier: GPL-3.0-or-later
// How many samples each rank takes in each step of an epoch. Nothing is padded or dropped: who has
// fewer takes fewer, down to none.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace trainyard::data {

// The contiguous part of [0, samples) that is `rank`'s: {first, count}; parts differ by at most
// one.
std::pair<std::int64_t, std::int64_t> slice(std::int64_t samples, std::int64_t ranks,
                                            std::int64_t rank);
// The same where rank `without` has none and the others share all; below 0: nobody is left out.
std::pair<std::int64_t, std::int64_t> slice(std::int64_t samples, std::int64_t ranks,
                                            std::int64_t rank, std::int64_t without);

// Steps in a row, of one epoch, in which each rank takes as many samples in one as in the other.
struct Stretch {
  std::int64_t first_step = 0, steps = 0;
  bool operator==(const Stretch&) const = default;
};

// Samples and batch are at least 1, and so are the ranks that take any. A `step` is of the run;
// epochs are alike.
class Shares {
 public:
  static constexpr std::int64_t kNone = -1;

  // Every step takes batch_per_rank samples for each rank but `without`, of all that are left of
  // the epoch, in parts that differ by at most one. `ranks` counts all of them.
  static Shares even(std::int64_t samples, std::int64_t batch_per_rank, std::int64_t ranks,
                     std::int64_t without = kNone);
  // Each rank takes batch_per_rank of its own, until it has none left; the epoch ends with the
  // largest share.
  static Shares owned(std::vector<std::int64_t> owned, std::int64_t batch_per_rank);

  std::int64_t ranks() const { return ranks_; }
  std::int64_t epoch_samples() const { return samples_; }
  std::int64_t steps_per_epoch() const { return steps_; }
  std::int64_t samples(std::int64_t step, std::int64_t rank) const;
  std::int64_t global_samples(std::int64_t step) const;
  // Where the rank's part of the step starts: in the order of the epoch, or of the rank's own
  // samples where it owns some.
  std::int64_t first(std::int64_t step, std::int64_t rank) const;
  std::vector<Stretch> stretches() const;  // of an epoch, in order; no two in a row are alike

 private:
  Shares(std::int64_t samples, std::int64_t batch_per_rank, std::int64_t ranks,
         std::int64_t without, std::vector<std::int64_t> owned);
  std::int64_t in_epoch(std::int64_t step) const { return step % steps_; }
  std::int64_t takers() const { return ranks_ - (without_ == kNone ? 0 : 1); }

  std::int64_t samples_, batch_, ranks_, without_, steps_ = 0;  // batch_: of one rank
  std::vector<std::int64_t> owned_;                             // by rank; empty: even
};

}  // namespace trainyard::data
