// SPDX-License-Identifier: GPL-3.0-or-later
// Dropout. Generates eight blocks of Philox4x32-10 at a time, with four random words each.
// core/base/random.h generates the same words.
#pragma once

#include "backends/cpu/kernels_body.h"

namespace trainyard::cpu {
namespace {

// Eight 32-bit random words, each in a 64-bit lane, so that products do not overflow.
using Words = Lanes<std::uint64_t>;

struct Counters {
  Words w0, w1, w2, w3;
};

inline void philox(Counters& c, std::uint64_t key) {
  constexpr std::uint64_t low = 0xFFFFFFFF;
  std::uint64_t key0 = key & low, key1 = key >> 32;
  for (int round = 0; round < 10; ++round) {
    const Words product0 = c.w0 * 0xD2511F53UL, product1 = c.w2 * 0xCD9E8D57UL;
    c = {(product1 >> 32) ^ c.w1 ^ key0, product1 & low, (product0 >> 32) ^ c.w3 ^ key1,
         product0 & low};
    key0 = (key0 + 0x9E3779B9) & low;
    key1 = (key1 + 0xBB67AE85) & low;
  }
}

constexpr std::int64_t kWordsAtOnce = 4 * kLanes;

// Generates the random words that decide which of the elements [32 turn, 32 turn + 32) of a sample
// are dropped.
inline void draw(std::uint64_t key, std::uint32_t sample, std::uint32_t purpose, std::int64_t turn,
                 std::uint32_t* words) {
  const Words zero{}, step = {0, 1, 2, 3, 4, 5, 6, 7},
                      block = step + static_cast<std::uint64_t>(turn * kLanes);
  Counters c{block & 0xFFFFFFFFUL, block >> 32, zero + sample, zero + purpose};
  philox(c, key);
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    words[4 * lane] = static_cast<std::uint32_t>(c.w0[lane]);
    words[4 * lane + 1] = static_cast<std::uint32_t>(c.w1[lane]);
    words[4 * lane + 2] = static_cast<std::uint32_t>(c.w2[lane]);
    words[4 * lane + 3] = static_cast<std::uint32_t>(c.w3[lane]);
  }
}

template <class T>
void dropout(const T* values, T* result, std::int64_t elements, std::uint64_t key,
             std::uint32_t sample, std::uint32_t purpose, std::uint64_t threshold, T scale) {
  std::uint32_t words[kWordsAtOnce];
  for (std::int64_t first = 0; first < elements; first += kWordsAtOnce) {
    draw(key, sample, purpose, first / kWordsAtOnce, words);
    const std::int64_t count = elements - first < kWordsAtOnce ? elements - first : kWordsAtOnce;
    for (std::int64_t i = 0; i < count; ++i)
      result[first + i] = words[i] < threshold ? T{0} : values[first + i] * scale;
  }
}

}  // namespace
}  // namespace trainyard::cpu
