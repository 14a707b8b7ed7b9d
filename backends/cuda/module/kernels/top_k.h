// SPDX-License-Identifier: GPL-3.0-or-later
// top_k compression by radix select. Histograms find the smallest magnitude to send, 11, 10 and 10
// bits at a time. Then each block gets the number of values selected before it, so that indices are
// in increasing order. Counts are integers, so the order of additions does not affect the result.
#pragma once

#include "backends/cuda/module/kernels/compression_input.h"

namespace trainyard::cuda {

inline constexpr int kMaxBins = 1 << 11;
// maximum number of teams (thread blocks) that compute histograms
inline constexpr std::int64_t kMaxTeams = 1024;
inline constexpr std::int64_t kOfBlock = compression::kBlock;

// The threshold as far as it is known: its upper bits, and how many of the numbers with these upper
// bits are selected (sent).
struct Least {
  std::int32_t magnitude;
  std::int64_t taken;
};

// Scratch memory of top_k.
struct TopKMemory {
  Least* least;
  std::int64_t *above,
      *equal;  // per block: first its count, later the sum of the counts of earlier blocks
  double *errors, *sums;
  std::int32_t* bins;

  TopKMemory(std::byte* memory, std::int64_t blocks)
      : least(reinterpret_cast<Least*>(memory)),
        above(reinterpret_cast<std::int64_t*>(least + 1)),
        equal(above + blocks),
        errors(reinterpret_cast<double*>(equal + blocks)),
        sums(errors + blocks),
        bins(reinterpret_cast<std::int32_t*>(sums + bytes_of_sums(1) / 8)) {}
  static std::int64_t bytes(std::int64_t blocks) {
    return static_cast<std::int64_t>(sizeof(Least) + kMaxBins * sizeof(std::int32_t)) +
           3 * 8 * blocks + bytes_of_sums(1);
  }
};

// Determines the next `bits` bits of the threshold, which are above its lowest `shift` bits.
inline void narrow(Stream& stream, const Whole& whole, int shift, int bits,
                   const TopKMemory& memory) {
  const int count = 1 << bits;
  const std::int64_t teams = std::min(kMaxTeams, parts(whole.elements, 4 * kOfBlock));
  clear(stream, memory.bins, count * static_cast<std::int64_t>(sizeof(std::int32_t)));
  for_teams(stream, teams, count * static_cast<std::int64_t>(sizeof(std::int32_t)),
            [=] ON_DEVICE(const Team& team, std::int64_t at) {
              auto* const own = shared<std::int32_t>(team);
              for (int b = team.rank; b < count; b += team.size) own[b] = 0;
              team.sync();
              const std::int32_t known = memory.least->magnitude;
              for (std::int64_t i = at * team.size + team.rank; i < whole.elements;
                   i += teams * team.size) {
                const std::int32_t magnitude = compression::magnitude(whole[i]);
                if (static_cast<std::int64_t>(magnitude) >> (shift + bits) == known)
                  atomic_add(own[magnitude >> shift & (count - 1)], 1);
              }
              team.sync();
              for (int b = team.rank; b < count; b += team.size)
                if (own[b] > 0) atomic_add(memory.bins[b], own[b]);
            });
  // Each thread scans some adjacent bins of the histogram; thread 0 has the highest bins.
  for_teams(stream, 1, 0, [=] ON_DEVICE(const Team& team, std::int64_t) {
    const Least least = *memory.least;
    const int each = static_cast<int>(parts(count, team.size)),
              first = count - 1 - team.rank * each;
    std::int64_t own = 0;
    for (int b = first; b > first - each && b >= 0; --b) own += memory.bins[b];
    std::int64_t higher = team.sum_before(own);
    for (int b = first; b > first - each && b >= 0; --b) {
      if (higher < least.taken && least.taken <= higher + memory.bins[b])
        *memory.least = {least.magnitude << bits | b, least.taken - higher};
      higher += memory.bins[b];
    }
  });
}

// Replaces counts by their exclusive prefix sums, in place.
ON_DEVICE inline void exclusive_scan(const Team& team, std::int64_t* counts, std::int64_t count) {
  const std::int64_t each = parts(count, team.size), first = team.rank * each,
                     end = first + each < count ? first + each : count;
  std::int64_t own = 0;
  for (std::int64_t i = first; i < end; ++i) own += counts[i];
  std::int64_t before = team.sum_before(own);
  for (std::int64_t i = first; i < end; ++i) {
    const std::int64_t here = counts[i];
    counts[i] = before;
    before += here;
  }
}

// Selects the `k` largest magnitudes; k is at least 1. `scratch` has TopKMemory::bytes bytes.
inline void compress_top_k(Stream& stream, const compute::CompressGradient& op, std::int64_t k,
                           std::byte* scratch) {
  const Whole whole(op);
  const std::int64_t blocks = parts(whole.elements, kOfBlock);
  const TopKMemory memory(scratch, blocks);
  std::byte* const encoded = op.encoded.data;
  for_each(stream, 1, [=] ON_DEVICE(std::int64_t) { *memory.least = {0, k}; });
  narrow(stream, whole, 20, 11, memory);
  narrow(stream, whole, 10, 10, memory);
  narrow(stream, whole, 0, 10, memory);

  for_teams(stream, blocks, 0, [=] ON_DEVICE(const Team& team, std::int64_t block) {
    const std::int64_t end =
        (block + 1) * kOfBlock < whole.elements ? (block + 1) * kOfBlock : whole.elements;
    double above = 0, equal = 0;
    for (std::int64_t i = block * kOfBlock + team.rank; i < end; i += team.size) {
      const std::int32_t magnitude = compression::magnitude(whole[i]),
                         least = memory.least->magnitude;
      above += magnitude > least ? 1 : 0, equal += magnitude == least ? 1 : 0;
    }
    above = team.sum(above), equal = team.sum(equal);
    if (team.rank == 0)
      memory.above[block] = static_cast<std::int64_t>(above),
      memory.equal[block] = static_cast<std::int64_t>(equal);
  });
  for_teams(stream, 1, 0, [=] ON_DEVICE(const Team& team, std::int64_t) {
    exclusive_scan(team, memory.above, blocks);
    exclusive_scan(team, memory.equal, blocks);
  });
  for_teams(stream, blocks, 0, [=] ON_DEVICE(const Team& team, std::int64_t block) {
    const Least least = *memory.least;
    const std::int64_t each = parts(kOfBlock, team.size),
                       first = block * kOfBlock + team.rank * each;
    std::int64_t end =
        first + each < (block + 1) * kOfBlock ? first + each : (block + 1) * kOfBlock;
    end = end < whole.elements ? end : whole.elements;
    std::int64_t above = 0, equal = 0;
    for (std::int64_t i = first; i < end; ++i) {
      const std::int32_t magnitude = compression::magnitude(whole[i]);
      above += magnitude > least.magnitude ? 1 : 0, equal += magnitude == least.magnitude ? 1 : 0;
    }
    above = memory.above[block] + team.sum_before(above),
    equal = memory.equal[block] + team.sum_before(equal);
    double error = 0;
    for (std::int64_t i = first; i < end; ++i) {
      const float value = whole[i];
      const std::int32_t magnitude = compression::magnitude(value);
      const bool taken =
          magnitude > least.magnitude || (magnitude == least.magnitude && equal < least.taken);
      if (taken) {
        const std::int64_t next = above + (equal < least.taken ? equal : least.taken);
        store(encoded, next, static_cast<std::int32_t>(i));
        store(encoded, k + next, value);
      }
      error += whole.sent_if(i, value, taken);
      above += magnitude > least.magnitude ? 1 : 0, equal += magnitude == least.magnitude ? 1 : 0;
    }
    error = team.sum(error);
    if (team.rank == 0) memory.errors[block] = error;
  });
  sum_errors(stream, op, blocks, memory.sums,
             [=] ON_DEVICE(std::int64_t block) { return memory.errors[block]; });
}

}  // namespace trainyard::cuda
