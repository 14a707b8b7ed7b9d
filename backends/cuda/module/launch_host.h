// SPDX-License-Identifier: GPL-3.0-or-later
// The device is this thread: a team has one member. See launch.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define ON_DEVICE

namespace trainyard::cuda {

inline constexpr std::int64_t kTeamMemory = std::int64_t{128} << 10;  // bytes that a team can share

struct Stream {
  alignas(64) std::array<std::byte, kTeamMemory> memory;
};

// A number, and where it stands.
struct Ranked {
  double value;
  std::int64_t place;
};

struct Team {
  int rank, size;
  std::byte* memory;

  void sync() const {}
  double sum(double own) const { return own; }
  double maximum(double own) const { return own; }
  Ranked first_maximum(Ranked own) const { return own; }
};

template <class Body>
void for_each(Stream&, std::int64_t count, const Body& body) {
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

template <class Body>
void for_teams(Stream& stream, std::int64_t count, std::int64_t, const Body& body) {
  const Team team{0, 1, stream.memory.data()};
  for (std::int64_t i = 0; i < count; ++i) body(team, i);
}

inline void clear(Stream&, void* memory, std::int64_t bytes) {
  if (bytes > 0) std::memset(memory, 0, static_cast<std::size_t>(bytes));
}

}  // namespace trainyard::cuda
