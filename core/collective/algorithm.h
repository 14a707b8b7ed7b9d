// SPDX-License-Identifier: GPL-3.0-or-later
// Collective algorithms. An algorithm is a pure function of a group's formation and a member's
// position. It returns the member's program over numbered chunks, in rounds. The sends and receives
// of a round start together, and a send matches its receive in the same round. Chunk c is the c-th
// of `chunks` nearly equal parts of the buffer. In the following, S is the number of bytes of the
// buffer, n the number of members, and c[i] the number of bytes of chunk i.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/names.h"
#include "core/collective/formation.h"

namespace trainyard::collective {

// All-reduce algorithms, one file each. Here `tree` means a tree of members; some literature calls
// recursive halving and doubling a tree.
enum class Algorithm {
  ring,              // reduce-scatter around a ring, then all-gather around it
  direct,            // every member owns a chunk: pairwise reduce-scatter, then all-gather
  halving_doubling,  // reduce-scatter by recursive halving, then all-gather by recursive doubling
  binary_tree,       // reduce up a binary tree, then broadcast down it
  // two trees, each of which reduces half of the buffer; an inner node of one tree is a leaf of the
  // other, except for one member if the group size is odd
  double_binary_tree,
  star,        // one member sums, and sends the result to all
  all_to_all,  // every member sends its full buffer to every other member (naive)
  // reduce to a leader in each host, ring between leaders, broadcast in each host
  leader_hierarchical,
  // reduce-scatter in each host, a ring between hosts for every chunk, all-gather in each host
  sharded_hierarchical,
  torus,      // reduce-scatter along rows, ring all-reduce along columns, all-gather along rows
  automatic,  // replaced by one of the algorithms above (cost.h) before the plan is made
};

enum class Collective {
  all_reduce,      // every member ends with the sum of all
  reduce_scatter,  // member p ends with chunk p of the sum; its other chunks become undefined
  all_gather,      // member p begins with chunk p; all end with all chunks
  broadcast,       // all members end with the root's buffer
  reduce,          // the root ends with the sum of all; the buffers of the others become undefined
  scatter,  // member p ends with chunk p of the root's buffer; its other chunks become undefined
  gather,   // member p begins with chunk p; the root ends with all chunks
};

enum class StepKind : std::uint8_t {
  send,         // sends the chunks to `peer`
  recv,         // receives from `peer`, and overwrites the chunks
  recv_reduce,  // receives from `peer`, and adds to the local chunks
  // receives the chunk from all other `summands`, and writes the sum of the chunks of all summands,
  // added in the order of the list
  reduce_many,
  // as `reduce_many`, but writes the sum to scratch memory, because peers still read the local
  // chunks
  sum_to_scratch,
  copy_from_scratch,  // copies the sum from scratch to the chunks, once peers no longer read these
};

// A step of a member's program, on chunks [chunk, chunk + chunks).
struct Step {
  StepKind kind = StepKind::send;
  int peer = -1;  // position of the peer in the group
  int chunk = 0, chunks = 1;
  std::vector<int> summands = {};  // positions whose chunks are summed, including the local one
  bool operator==(const Step&) const = default;
};

using Round = std::vector<Step>;
using Rounds = std::vector<Round>;

// Each returns the all-reduce program of the member at `position`. All members have the same number
// of rounds.
Rounds ring(const Formation& formation, int position);
Rounds direct(const Formation& formation, int position);
Rounds halving_doubling(const Formation& formation, int position);
Rounds binary_tree(const Formation& formation, int position);
Rounds double_binary_tree(const Formation& formation, int position);
Rounds star(const Formation& formation, int position);
Rounds all_to_all(const Formation& formation, int position);
Rounds leader_hierarchical(const Formation& formation, int position);
// The program is empty unless every host has the same number of members.
Rounds sharded_hierarchical(const Formation& formation, int position);
Rounds torus(const Formation& formation, int position);

// Programs of collectives other than all-reduce; `root` is a position. A reduce-scatter or
// all-gather runs the matching phase of the all-reduce. Collectives with a root use a binomial tree
// or a single round, so several algorithms share one program. `program_algorithm` returns the
// algorithm whose name the shared program has.
Algorithm program_algorithm(Collective collective, Algorithm algorithm);
Rounds reduce_scatter(Algorithm algorithm, const Formation& formation, int position);
Rounds all_gather(Algorithm algorithm, const Formation& formation, int position);
Rounds broadcast(Algorithm algorithm, const Formation& formation, int position, int root);
Rounds reduce(Algorithm algorithm, const Formation& formation, int position, int root);
Rounds scatter(const Formation& formation, int position, int root);
Rounds gather(const Formation& formation, int position, int root);

// Returns the program of any collective. `root` is ignored if the collective has none.
Rounds program(Collective collective, Algorithm algorithm, const Formation& formation, int position,
               int root);
int chunks(Collective collective, Algorithm algorithm, const Formation& formation);

std::string_view description(Algorithm algorithm);  // returns one line: method, bytes and rounds

// True if the algorithm is defined for groups of this formation.
bool fits(Algorithm algorithm, const Formation& formation);

// True if each member begins or ends this collective with only one chunk of the buffer, as in
// reduce-scatter and all-gather.
constexpr bool is_sharded(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::all_gather ||
         collective == Collective::scatter || collective == Collective::gather;
}

// Segment size for ranks that read each other's memory. Segments are so small that a sum is still
// in the cache when peers copy it. On an EPYC (32 MiB of L3, 2 cores), reducing 64 MiB between 2 or
// 4 ranks takes 0.8 times as long as without segments.
inline constexpr std::int64_t kSegmentBytesInMemory = std::int64_t{2} << 20;

// Returns the number of segments of a bucket, of about `segment_bytes` each; at most one per
// element and at most kMaxSegments. If `segment_bytes` is 0, there is one segment.
inline constexpr std::int64_t kMaxSegments = 256;
int segments(std::int64_t elements, int element_bytes, std::int64_t segment_bytes);

// Divides [0, elements) into `parts` parts and returns {first, count} of part `index`. Counts
// differ by at most one; larger parts come first.
constexpr std::pair<std::int64_t, std::int64_t> part(std::int64_t elements, int parts, int index) {
  const std::int64_t base = elements / parts, extra = elements % parts;
  const std::int64_t first = base * index + (index < extra ? index : extra);
  return {first, base + (index < extra ? 1 : 0)};
}

// Returns {first, count} of the elements of a step's chunks, in a segment that has `elements`
// elements and `chunks` chunks.
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
