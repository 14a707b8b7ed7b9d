// SPDX-License-Identifier: GPL-3.0-or-later
// Host version of launch.h: the device is this process. A team is the calling thread alone, or a
// crew of several threads that act like a thread block.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "core/base/result.h"

#define ON_DEVICE
#define IN_REGISTERS inline

namespace trainyard::cuda {

// Bytes of shared memory that a team may use.
inline constexpr std::int64_t kTeamMemory = std::int64_t{96} << 10;

inline constexpr int kMaxThreads = 64;  // maximum team size
inline constexpr int kSmallTeam = 1;    // minimum team size

template <int kCount, class Body>
void unrolled(const Body& body) {
  for (int i = 0; i < kCount; ++i) body(i);
}
template <class Body>
void rolled(int first, int end, int step, const Body& body) {
  for (int i = first; i < end; i += step) body(i);
}

// Returns the rounded product. An addition that follows is not fused with it.
inline float rounded_product(float a, float b) { return a * b; }

// Reads a value that another team wrote. On the host this is a normal read.
inline double load_uncached(const double& place) { return place; }

// Adds atomically.
inline void atomic_add(std::int32_t& sum, std::int32_t more) {
  std::atomic_ref(sum).fetch_add(more, std::memory_order_relaxed);
}

// A value and its index.
struct Ranked {
  double value;
  std::int64_t place;
};

// Threads that run a task together, with a buffer for exchanging values.
class ThreadTeam {
 public:
  using Task = void (*)(const void* with, int rank);
  virtual ~ThreadTeam() = default;
  virtual int size() const = 0;
  // Runs the task on all threads of the crew and waits for them.
  virtual void run(Task task, const void* with) = 0;
  virtual void sync() = 0;                              // barrier; all threads must call it
  virtual std::array<Ranked, kMaxThreads>& said() = 0;  // exchange buffer, by rank
};

struct Stream {
  alignas(64) std::array<std::byte, kTeamMemory> memory;
  ThreadTeam* crew = nullptr;            // null: the calling thread alone
  std::optional<base::Problem> refused;  // first error that a library reported immediately
};

struct Team {
  int rank, size;
  std::byte* memory;
  ThreadTeam* crew;

  void sync() const {
    if (crew != nullptr) crew->sync();
  }
  double sum(double own) const {
    return together({own, 0},
                    [](Ranked a, Ranked b) {
                      return Ranked{a.value + b.value, 0};
                    })
        .value;
  }
  // Returns the sum of `own` over all threads of lower rank.
  std::int64_t sum_before(std::int64_t own) const {
    if (crew == nullptr) return 0;
    auto& said = crew->said();
    said[static_cast<std::size_t>(rank)] = {0, own};
    crew->sync();
    std::int64_t sum = 0;
    for (int other = 0; other < rank; ++other) sum += said[static_cast<std::size_t>(other)].place;
    crew->sync();  // all threads have read `said` before the next call writes it
    return sum;
  }
  // True on the team that calls this last. `arrived` is 0 before the first and after the last call.
  bool is_last(std::uint32_t& arrived, std::int64_t teams) const {
    if (rank == 0) arrived = static_cast<std::uint32_t>((arrived + 1) % teams);
    sync();
    const bool last = arrived == 0;
    sync();  // all threads have read `arrived` before the next call writes it
    return last;
  }
  // Returns the maximum over all threads; of equal values, the one with the lowest index.
  Ranked first_maximum(Ranked own) const {
    return together(own, [](Ranked a, Ranked b) {
      return b.value > a.value || (b.value == a.value && b.place < a.place) ? b : a;
    });
  }

 private:
  template <class Join>
  Ranked together(Ranked own, Join join) const {
    if (crew == nullptr) return own;
    auto& said = crew->said();
    said[static_cast<std::size_t>(rank)] = own;
    crew->sync();
    Ranked all = said[0];
    for (int other = 1; other < size; ++other)
      all = join(all, said[static_cast<std::size_t>(other)]);
    crew->sync();  // all threads have read `said` before the next call writes it
    return all;
  }
};

template <class Body>
void for_each(Stream& stream, std::int64_t count, const Body& body) {
  if (stream.crew == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  const auto share = [&](int rank) {
    for (std::int64_t i = rank; i < count; i += stream.crew->size()) body(i);
  };
  stream.crew->run(
      [](const void* with, int rank) { (*static_cast<const decltype(share)*>(with))(rank); },
      &share);
}

template <int = 0, class Body>
void for_teams(Stream& stream, std::int64_t count, std::int64_t, const Body& body) {
  const auto member = [&](int rank) {
    const Team team{rank, stream.crew == nullptr ? 1 : stream.crew->size(), stream.memory.data(),
                    stream.crew};
    for (std::int64_t i = 0; i < count; ++i) {
      body(team, i);
      team.sync();
    }
  };
  if (stream.crew == nullptr) return member(0);
  stream.crew->run(
      [](const void* with, int rank) { (*static_cast<const decltype(member)*>(with))(rank); },
      &member);
}

inline void clear(Stream&, void* memory, std::int64_t bytes) {
  if (bytes > 0) std::memset(memory, 0, static_cast<std::size_t>(bytes));
}

}  // namespace trainyard::cuda
