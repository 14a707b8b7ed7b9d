// SPDX-License-Identifier: GPL-3.0-or-later
// A collective step by step, for teaching: plays the programs that ranks run (expand.h), with one
// number per chunk. A step is one send together with its effect on the receiver, or the copy of a
// sum from scratch to its chunk. Rounds are sequential. Within a round, receivers are ordered by
// position, and summands in the order in which they are added. The order within a round does not
// affect values, because no chunk changes in a round in which it is sent (verified by core/check).
// Members are identified by position.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/collective/expand.h"

namespace trainyard::collective {

// Maximum member count and chunk count that the stepper shows; a viewer could not follow more.
inline constexpr int kMaxPlayedMembers = 64, kMaxPlayedChunks = 1024;

struct Exercise {
  Collective collective = Collective::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  std::vector<int> hosts = {0};  // host number by position
  int root = 0;                  // position of the root, if there is one
  std::int64_t elements = 0;     // elements of the bucket
  base::DType dtype = base::DType::fp32;
  std::int64_t segment_bytes = 0;  // maximum size of a segment, as in Method
  std::int64_t row = 1;            // elements of a row; chunks consist of full rows, as in plan::Op
  int bucket = 0;                  // bucket number in the program's text
  // Rank numbers to show in the text of the program, by position. If empty, positions are shown.
  std::vector<int> ranks = {};

  int rank(int position) const {
    return ranks.empty() ? position : ranks[static_cast<std::size_t>(position)];
  }
  int members() const { return static_cast<int>(hosts.size()); }
  std::int64_t bytes() const { return elements * static_cast<std::int64_t>(base::size_of(dtype)); }
  bool operator==(const Exercise&) const = default;
};

// True if one member (the root) holds the full buffer before or after the collective.
bool has_root(Collective collective);
// True if the collective sums buffers.
bool is_reduction(Collective collective);

// Returns the algorithms that support the formation and have different programs for the collective.
// For a collective with a root, these are a tree and a single round.
std::vector<Algorithm> choices(Collective collective, const Formation& formation);

enum class Effect {
  replaces,  // received data overwrites the chunks
  adds,      // received data is added to the local chunks
  sums,      // received data is added to a sum in scratch, until the last summand has arrived
  copies_from_scratch,  // a sum in scratch overwrites the chunks; nothing is sent
};

struct Move {
  int from = 0, to = 0;  // equal positions if the step only copies from scratch
  int chunk = 0, chunks = 1;
  int round = 0;
  Effect effect = Effect::replaces;
  std::int64_t bytes = 0;  // bytes of the payload
  // members whose values the step adds to a sum, in order: the sender, and also the receiver if its
  // value is added next
  std::vector<int> taken = {};
  bool begins = false;  // true if `taken` are the first summands of a sum
  bool ends = false;    // true if the sum is complete and overwrites the chunks
};

// A line of a member's program, and the steps that play it. A sum has one step per received
// summand.
struct Line {
  std::string token;  // token of the op, such as "RED.b0.t0.c3<r1"
  int round = 0;
  int first_step = 0, last_step = 0;  // steps are numbered from 1
};

struct Steps {
  Exercise exercise;
  int rounds = 0;
  std::vector<std::int64_t> chunk_bytes;   // bytes of each chunk
  std::vector<Move> moves;                 // step k is moves[k - 1]
  std::vector<std::vector<Line>> program;  // lines of the members' programs, by position
  std::vector<std::int64_t> total_sent;    // total payload bytes by position, from the plan
  std::vector<std::int64_t> total_received;

  int members() const { return exercise.members(); }
  int chunks() const { return static_cast<int>(chunk_bytes.size()); }
  int count() const { return static_cast<int>(moves.size()); }
  // True if the chunk of the member is an input (`given`) or an output (`wanted`) of the
  // collective.
  bool given(int position, int chunk) const;
  bool wanted(int position, int chunk) const;
  // Return the number of complete steps at the end of a round, starting from the state after `step`
  // steps. `after_round`: end of the next round; `before_round`: end of the previous round.
  int after_round(int step) const;
  int before_round(int step) const;
};

// Computes the steps. Fails if the algorithm does not support this number of members, or if there
// are more members or chunks than the stepper shows.
base::Result<Steps> steps(const Exercise& exercise);

// One number per chunk; indices: position, chunk.
using Values = std::vector<std::vector<double>>;
// returns values that are random integers from 1 to 9
Values seeded_values(std::uint64_t seed, int members, int chunks);

// A partial sum, and the members whose values it contains, in order of addition. If the list is
// empty, the sum is undefined.
struct PartialSum {
  double value = 0;
  std::vector<int> of;
  bool operator==(const PartialSum&) const = default;
};

struct State {
  std::vector<std::vector<PartialSum>> held;          // values by position and chunk
  std::vector<std::vector<PartialSum>> scratch_sums;  // sums in scratch, complete or not
  std::vector<std::int64_t> sent, received;           // payload bytes so far, by position
  bool operator==(const State&) const = default;
};

// Adds two numbers the way the backend does: real ranks round the sum to the bucket's dtype.
using Add = double (*)(double, double);
inline double plain_sum(double a, double b) { return a + b; }

// Returns the state after `step` steps, from 0 to count(). `start`: initial values, for all members
// and chunks of the steps.
State state_at(const Steps& steps, const Values& start, int step, Add add = plain_sum);

// Payload bytes that all members together send, from a formula instead of a program. S: bytes of
// the bucket; c: bytes of the root's chunk.
struct Formula {
  std::string text;  // formula, such as "2 (n - 1) S"
  std::int64_t bytes = 0;
};
Formula total_formula(const Exercise& exercise);

}  // namespace trainyard::collective

template <>
struct trainyard::base::Names<trainyard::collective::Collective> {
  using C = trainyard::collective::Collective;
  static constexpr std::pair<C, std::string_view> table[] = {
      {C::all_reduce, "all_reduce"}, {C::reduce_scatter, "reduce_scatter"},
      {C::all_gather, "all_gather"}, {C::broadcast, "broadcast"},
      {C::reduce, "reduce"},         {C::scatter, "scatter"},
      {C::gather, "gather"}};
};
