// SPDX-License-Identifier: GPL-3.0-or-later
// A collective algorithm is a function of (group size, position) to a program over symbolic chunks, in rounds: the sends
// and receives of a round start together. Chunk c of the buffer is the c-th of `chunks` nearly equal parts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/fields.h"

namespace trainyard::collective {

enum class Algorithm {
  ring,    // reduce-scatter around a ring, then all-gather around it
  direct,  // every rank owns a share: pairwise reduce-scatter, then all-gather
};

enum class StepKind : std::uint8_t {
  send,         // to `peer`
  recv,         // from `peer`: replaces the chunk
  recv_reduce,  // from `peer`: chunk = own chunk + received
  reduce_many,  // from every other member: chunk = sum of all members' chunks, added in order of position
};

struct Step {
  StepKind kind = StepKind::send;
  int peer = -1;  // position in the group; unused by reduce_many
  int chunk = 0;
  bool operator==(const Step&) const = default;
};

using Round = std::vector<Step>;
using Rounds = std::vector<Round>;

// The all-reduce program of the member at `position` of a group of `members`.
Rounds ring(int members, int position);
Rounds direct(int members, int position);

Rounds all_reduce(Algorithm algorithm, int members, int position);
int chunks(Algorithm algorithm, int members);

// Part `index` of `parts` of [0, elements): {first, count}; counts differ by at most one, the larger ones first.
constexpr std::pair<std::int64_t, std::int64_t> part(std::int64_t elements, int parts, int index) {
  const std::int64_t base = elements / parts, extra = elements % parts;
  const std::int64_t first = base * index + (index < extra ? index : extra);
  return {first, base + (index < extra ? 1 : 0)};
}

}  // namespace trainyard::collective

template <>
struct trainyard::base::Names<trainyard::collective::Algorithm> {
  using A = trainyard::collective::Algorithm;
  static constexpr std::pair<A, std::string_view> table[] = {{A::ring, "ring"}, {A::direct, "direct"}};
};
