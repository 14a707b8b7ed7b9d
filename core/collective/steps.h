// SPDX-License-Identifier: GPL-3.0-or-later
// A collective step by step, for people: the chunk programs that ranks run (expand.h), played over
// one number a chunk. A step is one send with what its receiver makes of it, or a sum that is put
// where it belongs. Rounds follow each other; within a round the receivers, by position, and the
// summands of a sum in their order. Nobody's chunk changes in a round in which it is sent, as
// core/check proves, so the order within a round changes no value. Members are named by position.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/collective/expand.h"

namespace trainyard::collective {

// More members or chunks than these are not played: nobody could follow them.
inline constexpr int kMostPlayedMembers = 64, kMostPlayedChunks = 1024;

struct Exercise {
  Collective collective = Collective::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  std::vector<int> hosts = {0};  // by position: the number of its host
  int root = 0;                  // a position, where there is one
  std::int64_t elements = 0;     // of the bucket
  base::DType dtype = base::DType::fp32;
  std::int64_t segment_bytes = 0;  // as Method's
  std::int64_t row = 1;            // as of plan::Op: chunks are whole rows of so many elements
  int bucket = 0;                  // its number in the program's text
  std::vector<int> ranks =
      {};  // by position: what the program's text calls it; empty: its position

  int rank(int position) const {
    return ranks.empty() ? position : ranks[static_cast<std::size_t>(position)];
  }
  int members() const { return static_cast<int>(hosts.size()); }
  std::int64_t bytes() const { return elements * static_cast<std::int64_t>(base::size_of(dtype)); }
  bool operator==(const Exercise&) const = default;
};

// Whether one member has all of it, before or after.
bool has_root(Collective collective);
// Whether it makes sums.
bool adds_up(Collective collective);

// The algorithms that differ for a collective and fit the formation; for one from or to a root a
// tree, or at once.
std::vector<Algorithm> choices(Collective collective, const Formation& formation);

enum class Effect {
  replaces,   // what arrives, the chunks
  adds,       // own chunks + what arrives
  sums,       // takes what arrives into a sum that is kept aside until the last summand is in
  puts_back,  // a sum that was put aside replaces the chunks; nothing crosses
};

struct Move {
  int from = 0, to = 0;  // equal: puts_back
  int chunk = 0, chunks = 1;
  int round = 0;
  Effect effect = Effect::replaces;
  std::int64_t bytes = 0;       // payload
  std::vector<int> taken = {};  // into a sum, in order: the sender, before or after it the receiver
                                // itself where it is its turn
  bool begins = false;          // a sum: these are its first summands
  bool ends = false;            // a sum that now replaces the chunks
};

// A line of a member's program, with the steps that carry it out. A sum has one for each that
// arrives.
struct Line {
  std::string token;  // "RED.b0.t0.c3<r1"
  int round = 0;
  int first_step = 0, last_step = 0;  // counted from 1
};

struct Steps {
  Exercise exercise;
  int rounds = 0;
  std::vector<std::int64_t> chunk_bytes;   // by chunk
  std::vector<Move> moves;                 // step k is moves[k - 1]
  std::vector<std::vector<Line>> program;  // by position
  std::vector<std::int64_t> sent_in_all;   // payload bytes, by position: what the plan says
  std::vector<std::int64_t> received_in_all;

  int members() const { return exercise.members(); }
  int chunks() const { return static_cast<int>(chunk_bytes.size()); }
  int count() const { return static_cast<int>(moves.size()); }
  // Whether a chunk of a member takes part at the start, and is what the collective is for at the
  // end.
  bool given(int position, int chunk) const;
  bool wanted(int position, int chunk) const;
  // So many steps done: at the end of the next round, at the end of the one before.
  int after_round(int step) const;
  int before_round(int step) const;
};

// Fails where the algorithm does not fit, or for more than can be played.
base::Result<Steps> steps(const Exercise& exercise);

// One number a chunk, by position and chunk.
using Values = std::vector<std::vector<double>>;
Values seeded_values(std::uint64_t seed, int members, int chunks);  // whole numbers from 1 to 9

// A number and the members whose values are in it, in the order of adding; of nobody: it means
// nothing (yet).
struct Held {
  double value = 0;
  std::vector<int> of;
  bool operator==(const Held&) const = default;
};

struct State {
  std::vector<std::vector<Held>> held;       // by position and chunk
  std::vector<std::vector<Held>> aside;      // sums that are put aside, or lack summands
  std::vector<std::int64_t> sent, received;  // payload bytes so far, by position
  bool operator==(const State&) const = default;
};

// A sum of two numbers, as whoever carries out the collective makes it: real ranks round it to the
// bucket's dtype.
using Add = double (*)(double, double);
inline double plain_sum(double a, double b) { return a + b; }

// When `step` of them are done, from 0 to count(). `start` has the extents of the steps.
State state_at(const Steps& steps, const Values& start, int step, Add add = plain_sum);

// Payload that all members together send, in closed form, apart from any program. S: the bucket; c:
// the root's chunk.
struct Formula {
  std::string text;  // "2 (n - 1) S"
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
