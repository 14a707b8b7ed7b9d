// SPDX-License-Identifier: GPL-3.0-or-later
// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). A value depends only on (seed, purpose, item, element), but not on the caller
// or the order of calls. So weights, samples and noise are the same for any number of ranks.
#pragma once

#include <array>
#include <cstdint>

namespace trainyard::base {

// Purpose of a random stream. Two purposes never share a stream. Add new values only at the end:
// the number of a purpose determines which random numbers a seed gives.
enum class Purpose : std::uint32_t {
  initialize = 1,
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
  // `item` is the number of a tensor, sample or step.
  constexpr Random(std::uint64_t seed, Purpose purpose, std::uint32_t item)
      : seed_(seed), purpose_(static_cast<std::uint32_t>(purpose)), item_(item) {}

  // Returns four independent 32-bit words for `element`.
  constexpr std::array<std::uint32_t, 4> block(std::uint64_t element) const;
  constexpr std::uint64_t bits(std::uint64_t element) const;
  constexpr double uniform(std::uint64_t element) const;  // [0, 1), 53 bits
  constexpr double uniform(std::uint64_t element, double low, double high) const;  // [low, high)
  double normal(std::uint64_t element) const;  // mean 0, variance 1 (Box-Muller)
  std::uint64_t below(std::uint64_t element, std::uint64_t bound) const;  // [0, bound), bound >= 1

 private:
  std::uint64_t seed_;
  std::uint32_t purpose_;
  std::uint32_t item_;
};

// The function is defined in the header so that CUDA code can use it and gets the same numbers.
constexpr std::array<std::uint32_t, 4> Random::block(std::uint64_t element) const {
  constexpr std::uint32_t multiplier0 = 0xD2511F53, multiplier1 = 0xCD9E8D57, weyl0 = 0x9E3779B9,
                          weyl1 = 0xBB67AE85;
  std::array<std::uint32_t, 4> c{static_cast<std::uint32_t>(element),
                                 static_cast<std::uint32_t>(element >> 32), item_, purpose_};
  std::uint32_t key0 = static_cast<std::uint32_t>(seed_),
                key1 = static_cast<std::uint32_t>(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{multiplier0} * c[0],
                        product1 = std::uint64_t{multiplier1} * c[2];
    c = {static_cast<std::uint32_t>(product1 >> 32) ^ c[1] ^ key0,
         static_cast<std::uint32_t>(product1),
         static_cast<std::uint32_t>(product0 >> 32) ^ c[3] ^ key1,
         static_cast<std::uint32_t>(product0)};
    key0 += weyl0;
    key1 += weyl1;
  }
  return c;
}

constexpr std::uint64_t Random::bits(std::uint64_t element) const {
  const auto words = block(element);
  return (std::uint64_t{words[1]} << 32) | words[0];
}

constexpr double Random::uniform(std::uint64_t element) const {
  return static_cast<double>(bits(element) >> 11) * 0x1p-53;
}
constexpr double Random::uniform(std::uint64_t element, double low, double high) const {
  return low + (high - low) * uniform(element);
}

}  // namespace trainyard::base
