// SPDX-License-Identifier: GPL-3.0-or-later
// Number of samples that each rank takes in each step of an epoch. Nothing is padded or dropped: a
// rank with fewer samples takes fewer, or none.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace trainyard::data {

// Divides [0, samples) into contiguous parts, one per rank, and returns {first, count} of the part
// of `rank`. The counts of ranks differ by at most one.
std::pair<std::int64_t, std::int64_t> slice(std::int64_t samples, std::int64_t ranks,
                                            std::int64_t rank);
// Divides [0, samples) in the same way, but rank `without` gets no samples. If `without` is
// negative, no rank is excluded.
std::pair<std::int64_t, std::int64_t> slice(std::int64_t samples, std::int64_t ranks,
                                            std::int64_t rank, std::int64_t without);

// Consecutive steps of one epoch in which each rank takes the same number of samples.
struct StepRange {
  std::int64_t first_step = 0, steps = 0;
  bool operator==(const StepRange&) const = default;
};

// Samples, batch, and the number of ranks that take samples are at least 1. `step` counts from the
// start of the run; all epochs have the same shares.
class Shares {
 public:
  static constexpr std::int64_t kNone = -1;

  // Shares in which a step takes batch_per_rank samples for each rank except `without`, from the
  // remaining samples of the epoch, in parts that differ by at most one. `ranks` includes
  // `without`.
  static Shares even(std::int64_t samples, std::int64_t batch_per_rank, std::int64_t ranks,
                     std::int64_t without = kNone);
  // Shares in which each rank takes batch_per_rank of the samples that it owns per step, until none
  // are left. The epoch ends when the rank with the most samples has none left.
  static Shares owned(std::vector<std::int64_t> owned, std::int64_t batch_per_rank);

  std::int64_t ranks() const { return ranks_; }
  std::int64_t epoch_samples() const { return samples_; }
  std::int64_t steps_per_epoch() const { return steps_; }
  std::int64_t samples(std::int64_t step, std::int64_t rank) const;
  std::int64_t global_samples(std::int64_t step) const;
  // Returns the samples of all ranks in the steps from `first_step` to before `end_step`.
  std::int64_t samples_between(std::int64_t first_step, std::int64_t end_step) const;
  // Returns the position of the rank's first sample of the step: in the order of the epoch, or in
  // the order of the rank's samples if it owns some.
  std::int64_t first(std::int64_t step, std::int64_t rank) const;
  // Returns the ranges of steps of an epoch in which the number of samples of each rank is
  // constant, in order. Adjacent ranges differ.
  std::vector<StepRange> stretches() const;

 private:
  Shares(std::int64_t samples, std::int64_t batch_per_rank, std::int64_t ranks,
         std::int64_t without, std::vector<std::int64_t> owned);
  std::int64_t in_epoch(std::int64_t step) const { return step % steps_; }
  std::int64_t consumers() const { return ranks_ - (without_ == kNone ? 0 : 1); }

  // batch_: samples per rank and step.
  std::int64_t samples_, batch_, ranks_, without_, steps_ = 0;
  // Number of samples that each rank owns; empty if shares are even.
  std::vector<std::int64_t> owned_;
};

}  // namespace trainyard::data
