// SPDX-License-Identifier: GPL-3.0-or-later
// A collective algorithm is a function of (formation of the group, position) to a program over
// symbolic chunks, in rounds: the sends and receives of a round start together, and a send meets
// its receive in the same round. Chunk c of the buffer is the c-th of `chunks` nearly equal parts.
// S: bytes of the buffer; n: members; c[i]: bytes of chunk i.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/names.h"
#include "core/collective/formation.h"

namespace trainyard::collective {

// All-reduce algorithms, one file each. A `tree` here is a tree: what much of the web calls so is
// halving and doubling.
enum class Algorithm {
  ring,                // reduce-scatter around a ring, then all-gather around it
  direct,              // every member owns a share: pairwise reduce-scatter, then all-gather
  halving_doubling,    // reduce-scatter by recursive halving, then all-gather by recursive doubling
  binary_tree,         // sums up a binary tree, result down it
  double_binary_tree,  // half of the buffer over each of two trees; who is an inner node of one is
                       // a leaf of the other, but for one of an odd group
  star,                // sums on one member, which sends the result to all
  all_to_all,          // everybody sends everything to everybody: the naive one
  leader_hierarchical,  // sums in each host on its leader, ring between leaders, result to the host
  sharded_hierarchical,  // reduce-scatter in each host, a ring between hosts for every share,
                         // all-gather in each host
  torus,      // reduce-scatter along rows, ring all-reduce along columns, all-gather along rows
  automatic,  // to be chosen from these (cost.h) before there is a plan
};

enum class Collective {
  all_reduce,      // every member ends with the sum of all
  reduce_scatter,  // member p ends with chunk p of the sum; what else it holds means nothing any
                   // more
  all_gather,      // member p begins with chunk p; all end with all chunks
  broadcast,       // all end with what the root has
  reduce,          // the root ends with the sum of all; what others hold means nothing any more
  scatter,  // member p ends with chunk p of what the root has; what else it holds means nothing any
            // more
  gather,   // member p begins with chunk p; the root ends with all chunks
};

enum class StepKind : std::uint8_t {
  send,         // to `peer`
  recv,         // from `peer`: replaces the chunks
  recv_reduce,  // from `peer`: own chunks + received
  reduce_many,  // from all `summands` but itself: the sum of their chunks, added in that order
  sum_aside,    // as reduce_many, but the sum is put aside: peers still read the own chunks
  put_back,     // what was put aside replaces the chunks; peers are done with them
};

// Works on chunks [chunk, chunk + chunks).
struct Step {
  StepKind kind = StepKind::send;
  int peer = -1;  // position in the group
  int chunk = 0, chunks = 1;
  std::vector<int> summands = {};  // positions, the own one included
  bool operator==(const Step&) const = default;
};

using Round = std::vector<Step>;
using Rounds = std::vector<Round>;

// The all-reduce program of the member at `position`; as many rounds for every member.
Rounds ring(const Formation& formation, int position);
Rounds direct(const Formation& formation, int position);
Rounds halving_doubling(const Formation& formation, int position);
Rounds binary_tree(const Formation& formation, int position);
Rounds double_binary_tree(const Formation& formation, int position);
Rounds star(const Formation& formation, int position);
Rounds all_to_all(const Formation& formation, int position);
Rounds leader_hierarchical(const Formation& formation, int position);
Rounds sharded_hierarchical(const Formation& formation,
                            int position);  // hosts with equally many members; of others no rounds
Rounds torus(const Formation& formation, int position);

// The others; `root` is a position. Reduce-scatter and all-gather are the halves of the all-reduces
// that begin and end so. From and to a root: over a binomial tree, or at once. Of each there are
// one or two programs, by the names below.
Algorithm carried_out_as(
    Collective collective,
    Algorithm algorithm);  // the name of the program that `algorithm` stands for
Rounds reduce_scatter(Algorithm algorithm, const Formation& formation, int position);
Rounds all_gather(Algorithm algorithm, const Formation& formation, int position);
Rounds broadcast(Algorithm algorithm, const Formation& formation, int position, int root);
Rounds reduce(Algorithm algorithm, const Formation& formation, int position, int root);
Rounds scatter(const Formation& formation, int position, int root);
Rounds gather(const Formation& formation, int position, int root);

// Of any. `root` is unused where there is none.
Rounds program(Collective collective, Algorithm algorithm, const Formation& formation, int position,
               int root);
int chunks(Collective collective, Algorithm algorithm, const Formation& formation);

std::string_view description(Algorithm algorithm);  // in a line: what it does, bytes and rounds

// Whether the algorithm is defined for such a group.
bool fits(Algorithm algorithm, const Formation& formation);

// Whether what a member ends with, or begins with, is a chunk of its own.
constexpr bool shares_out(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::all_gather ||
         collective == Collective::scatter || collective == Collective::gather;
}

// Of ranks that read each other's memory: what one has added up is still in the caches when the
// others copy it. On an EPYC (32 MiB of L3, 2 cores) 64 MiB between 2 or 4 ranks take 0.8 of the
// time that they take as one.
inline constexpr std::int64_t kSegmentBytesInMemory = std::int64_t{2} << 20;

// Segments that a bucket is cut into: of about `segment_bytes`, never more than it has elements nor
// than kMostSegments. 0: one.
inline constexpr std::int64_t kMostSegments = 256;
int segments(std::int64_t elements, int element_bytes, std::int64_t segment_bytes);

// Part `index` of `parts` of [0, elements): {first, count}; counts differ by at most one, the
// larger ones first.
constexpr std::pair<std::int64_t, std::int64_t> part(std::int64_t elements, int parts, int index) {
  const std::int64_t base = elements / parts, extra = elements % parts;
  const std::int64_t first = base * index + (index < extra ? index : extra);
  return {first, base + (index < extra ? 1 : 0)};
}

// The chunks of a step in a segment of `elements` that is cut into `chunks`: {first, count}.
constexpr std::pair<std::int64_t, std::int64_t> span(const Step& step, std::int64_t elements,
                                                     int chunks) {
  const std::int64_t first = part(elements, chunks, step.chunk).first;
  const auto [last, last_count] = part(elements, chunks, step.chunk + step.chunks - 1);
  return {first, last + last_count - first};
}

}  // namespace trainyard::collective

template <>
struct trainyard::base::Names<trainyard::collective::Algorithm> {
  using A = trainyard::collective::Algorithm;
  static constexpr std::pair<A, std::string_view> table[] = {
      {A::ring, "ring"},
      {A::direct, "direct"},
      {A::halving_doubling, "halving_doubling"},
      {A::binary_tree, "binary_tree"},
      {A::double_binary_tree, "double_binary_tree"},
      {A::star, "star"},
      {A::all_to_all, "all_to_all"},
      {A::leader_hierarchical, "leader_hierarchical"},
      {A::sharded_hierarchical, "sharded_hierarchical"},
      {A::torus, "torus"},
      {A::automatic, "auto"}};
};
