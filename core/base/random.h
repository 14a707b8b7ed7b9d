// SPDX-License-Identifier: GPL-3.0-or-later
// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
// A value depends on (seed, purpose, item, element) alone, never on who asks or in what order, so that every rank count
// draws the same weights, samples and noise.
#pragma once

#include <array>
#include <cstdint>

namespace trainyard::base {

// What the numbers are for. Two purposes never share a stream. Append only: values are part of what a seed means.
enum class Purpose : std::uint32_t {
  initialise = 1,
  permute = 2,
  generate = 3,
  label = 4,
  noise = 5,
  split = 6,
  simulate = 7,
  shard = 8,
  straggler = 9,
  dropout = 10,
  compress = 16,
  gossip = 17,
  speak = 18
};

class Random {
 public:
  // `item` names the tensor, the sample or the step the numbers belong to.
  Random(std::uint64_t seed, Purpose purpose, std::uint32_t item);

  // Four independent 32-bit words of `element`.
  std::array<std::uint32_t, 4> block(std::uint64_t element) const;
  std::uint64_t bits(std::uint64_t element) const;
  double uniform(std::uint64_t element) const;                            // [0, 1), 53 bits
  double uniform(std::uint64_t element, double low, double high) const;   // [low, high)
  double normal(std::uint64_t element) const;                             // mean 0, variance 1 (Box-Muller)
  std::uint64_t below(std::uint64_t element, std::uint64_t bound) const;  // [0, bound), bound >= 1

 private:
  std::uint64_t seed_;
  std::uint32_t purpose_;
  std::uint32_t item_;
};

}  // namespace trainyard::base
