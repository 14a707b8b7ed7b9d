// SPDX-License-Identifier: GPL-3.0-or-later
// Copies of what peers have just read, in the faster of two ways. Which one that is differs from
// machine to machine, by how far its cores are from each other: 1 MiB between two cores of one EPYC
// takes 31 us past the caches and 220 through them, of another 36 and 25.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace trainyard::cpu {

enum class Way : std::uint8_t {
  through_caches,
  past_caches,  // the destination's lines are not fetched first; whoever reads them next finds them
                // in memory
};

// The ranges do not overlap.
void copy(std::byte* destination, const std::byte* source, std::int64_t bytes, Way way);

// Tries both ways on the first copies of about a length, and from then on says the one that had the
// least time. Any thread.
class WayChoice {
 public:
  static constexpr int kTries = 8;  // of both together

  bool decided(std::int64_t bytes) const {
    return known(bytes).tries.load(std::memory_order_relaxed) >= kTries;
  }
  Way next(std::int64_t bytes) const;
  void took(std::int64_t bytes, Way way, std::int64_t nanoseconds);

 private:
  struct Known {
    std::atomic<int> tries{0};
    std::array<std::atomic<double>, 2> least{1e30, 1e30};  // nanoseconds a byte, by way
  };
  static std::size_t length_class(std::int64_t bytes) {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(bytes)));
  }
  const Known& known(std::int64_t bytes) const { return by_length_[length_class(bytes)]; }

  std::array<Known, 65> by_length_;
};

class Copier {
 public:
  void copy(std::byte* destination, const std::byte* source, std::int64_t bytes);

 private:
  WayChoice choice_;
};

}  // namespace trainyard::cpu
