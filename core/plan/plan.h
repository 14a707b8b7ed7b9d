// SPDX-License-Identifier: GPL-3.0-or-later
// The plan: what every rank does, as data. For each rank a few programs; a program is ops on
// in-order lanes with explicit dependencies; the schedule names the program of each step. Integers
// and names only, so that its hash is the same everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/id.h"
#include "core/plan/arrivals.h"
#include "core/plan/pairing.h"

namespace trainyard::plan {

struct LaneTag;
struct BufferTag;
using LaneId = base::Id<LaneTag>;
using BufferId = base::Id<BufferTag>;

enum class OpKind : std::uint8_t {
  load,  // LOAD.m0        brings the step's samples in
  rows,  // ROWS.b0        names the rows of a table that the samples of the next round look up
  rate,  // RATE           writes the step's learning rate and number
  statistics,  // STAT.s2.m0     a batch normalisation's sums over the rank's samples; F then reads those over the samples of all ranks
  partial,  // PART.s0.m0     a layer's products with the rank's own columns; F then reads the sum of those of all ranks
  forward,  // F.s2.m0
  recompute,  // R.s2.m0        makes a segment's output once more, for the backward pass: it was given up
  softmax,  // SOFTMAX.m0     of the rank's own classes what the loss asks for, row by row; LOSS then reads that of all ranks
  loss,     // LOSS.m0        loss, and the gradient at the model's output when that is written
  backward_input,   // B.s2.m0
  backward_weight,  // W.s2.m0        adds to the gradient where it reads it; the last of a step writes the segment's local squared norm
  zero,  // ZERO.s2        a segment's gradient where a rank has no samples: fills what it writes with zeros
  all_reduce,      // AR.b1          coarse, as the next six: all members have the sum of a bucket
  reduce_scatter,  // RS.b1          each has its chunk of the sum
  all_gather,      // AG.b1          all have the chunks of all
  broadcast,       // BCAST.b1<r0    all have what one has
  reduce,          // REDUCE.b1>r0   one has the sum
  scatter,         // SCATTER.b1<r0  each has its chunk of what one has
  gather,          // GATHER.b1>r0   one has the chunks of all
  encode,  // ENC.b1         makes what collective b1 carries; reads first the bucket's gradient, or the residual that took it up
  decode,  // DEC.b1         writes first the bucket's reduced gradient, of what b1, and what belongs to it, brought
  norm,    // NORM.s2        squared norm of a segment's gradient, as it is updated by
  clip,    // CLIP           the factor that brings the whole gradient under the limit
  update,  // UPD.s2         the optimizer, on one segment
  cast,    // CAST.s2        a segment's parameters, in the number format that products take
  scale,  // SCALE          the loss scale of the next step, by whether this one's gradient is finite
  stash,  // STASH.s2.m0    a segment's parameters put aside, for the backward pass of the micro-batches that went forward by them
  swap_out,  // OUT.s2.m0      copies to host memory or disk what is needed again later
  swap_in,   // IN.s2.m0       and back
  weigh,  // WEIGH.s2       a segment's parameters times the rank's part of the step's samples: what is summed then is their mean
  mix,    // MIX.b1<r0,r1,r3  a weighted sum of what these ranks have, one span each, in this order;
          // of nobody named: of the rank's own spans
  send,   // SEND.b1.t0.c3>r1   bucket, round, chunk, to
  recv,   // RECV.b1.t0.c3-5<r1 replaces the chunks
  recv_reduce,  // RED.b1.t0.c3<r1    adds to the chunk
  reduce_many,  // SUM.b1.t0.c3<r0,r2 sum over these ranks, the own one included, in this order; of
                // nobody named: over all of the group, by position
  copy,         // COPY.b1.t1.c0      puts a sum that reduce_many put aside where it belongs
  pack,         // PACK.b0        puts the named rows of a table's gradient side by side
  turn,  // TURN<r4        what a worker does next, from the server that deals out rounds: a worker's next round (run/turn.h)
  push,  // PUSH.b1>r4     a worker's gradient, to a server that gathers it by its rule, or which rows it wants; of no bucket: asks, or takes leave
  pull,  // PULL.b1<r4     parameters, all of one version
  take,  // TAKE.b1        a server: adds what a worker pushed to the gradient that it gathers, or drops it; or is told the rows that it wants
  give,  // GIVE.b1        a server: the answer to who may have it, a turn or parameters
  offer,   // OFFER          an active rank: its parameters, to its partner of the step (pairing.h)
  agree,   // AGREE          an active rank: what its partner made of both ranks' parameters
  answer,  // ANSWER<r2      a passive rank: of its own parameters and those that r2 offers the weighted sum, to itself and, where it writes next, to r2
};

// Elements [first, first + count) of a buffer.
struct Access {
  BufferId buffer;
  std::int64_t first = 0, count = 0;
  bool operator==(const Access&) const = default;
};

// What each span that is read counts in a weighted sum: numerators[i] / denominator.
struct Weights {
  std::vector<std::int64_t> numerators;
  std::int64_t denominator = 1;
  bool operator==(const Weights&) const = default;
};

// The op may start once `sequence` ops of `lane` are complete, in this instance of the program or
// in the one `steps_back` before it. An instance with fewer ops on the lane counts as complete when
// they are.
struct Dependency {
  static constexpr std::int32_t end = -1;  // as sequence: all ops of the lane
  LaneId lane;
  std::int32_t sequence = 0;
  std::int32_t steps_back = 0;
  bool operator==(const Dependency&) const = default;
};

// Of the features of a sample, those that a rank has: [first, first + count) of all `of`.
struct Columns {
  std::int64_t first = 0, count = 0, of = 0;
  bool any() const { return count > 0; }
  bool operator==(const Columns&) const = default;
};

struct Op {
  OpKind kind = OpKind::load;
  LaneId lane;
  // What the token names; -1 where the kind has none.
  std::int32_t segment = -1, micro = -1, bucket = -1, round = -1, chunk = -1, peer = -1, group = -1;
  std::int32_t chunks = 1;  // from `chunk` on, where there is one
  std::vector<std::int32_t>
      summands;  // of reduce_many, where it is not all of the group; of mix, by span that it reads
  Weights weights = {};  // of mix, by span that it reads; of loss, where each micro-batch is an
                         // update, its samples of that's on all ranks
  Columns columns;       // of load, partial and backward_weight, where a rank has but some features
  std::int64_t row =
      1;  // of what shares out chunks: so many elements lie in one row, which is never cut
  bool named = false;  // of pack, push, pull, take and give: of a table only the rows that the last
                       // access it reads names, `row` elements each
  std::vector<Access> reads, writes;
  std::vector<Dependency> after;
  std::int64_t flops = 0;
  bool operator==(const Op&) const = default;
};

enum class LaneKind : std::uint8_t { input, compute, comm, send, recv, copy };

// Ops of one lane start and complete in order; those of one round of one bucket may be under way
// together.
struct Lane {
  std::string name;  // "compute", "send.g0"
  LaneKind kind = LaneKind::compute;
  std::int32_t group = -1;  // of comm, send and recv lanes
  bool operator==(const Lane&) const = default;
};

// Whose memory a buffer is in.
enum class Place : std::uint8_t { device, host, disk };

struct Buffer {
  std::string name;  // "grads", "act.s1"
  base::DType dtype = base::DType::fp32;
  std::int64_t elements = 0;
  bool shared = false;  // peers read it in place
  Place place = Place::device;
  bool operator==(const Buffer&) const = default;
  std::int64_t bytes() const { return elements * base::size_of(dtype); }
};

// What is wanted of a bucket whose collective was expanded to chunks, or which neighbours exchange
// (kind mix: every rank has its weighted sum). All have the sum, where nothing is said.
struct Wanted {
  OpKind kind = OpKind::all_reduce;  // coarse, or mix
  std::int32_t group = -1, bucket = -1;
  std::int32_t root = -1;  // a rank
  Access span;             // the bucket
  std::int64_t row = 1;    // as of the op
  bool operator==(const Wanted&) const = default;
};

struct Program {
  std::string name;  // "start", "train", "tail", "tail2", ..., "train_average", ..., "average",
                     // "evaluate", "evaluate_tail", "end"
  std::int64_t samples = 0;         // of this rank
  std::int64_t global_samples = 0;  // over all ranks
  std::int64_t repeats = 1;         // evaluate: runs in a row
  std::vector<Op> ops;
  std::vector<Wanted> wanted = {};  // by bucket, where it is not that all have the sum
  bool operator==(const Program&) const = default;
};

struct RankPlan {
  std::int32_t rank = 0;
  std::vector<Lane> lanes;
  std::vector<Buffer> buffers;
  std::vector<Program> programs;
  std::optional<ArrivalRule> rule = {};  // a server: it goes by what arrives, not by steps. Its
                                         // programs: "arrival", "update", "answer"
  // Of a rank that averages with one neighbour at a time: of an active one whom it asks, of a
  // passive one all who may ask it. A passive one's program "answer" has an op for each of these,
  // which goes by what arrives.
  std::vector<Pairing> pairs = {};

  BufferId buffer(std::string_view name) const;  // invalid when there is none
  int program(std::string_view name) const;      // -1 when there is none
  bool answers() const { return !pairs.empty() && pairs.front().active != rank; }  // a passive rank
  bool operator==(const RankPlan&) const = default;
};

struct Group {
  std::vector<std::int32_t> ranks;  // by position
  bool operator==(const Group&) const = default;
  int position(std::int32_t rank) const;  // -1: not a member
};

// What a program is for, by its name. "start" runs once, before the first step, and "end" once,
// after the last. Where ranks have parameters of their own, "average" runs before an evaluation,
// which then goes by the average, and wherever else the schedule measures how far apart they are.
// Of a worker of servers also "turn", before every round, and "last" and "leave", after all of
// them; a server's own go by what arrives: "arrival", "update", "answer", and "named", once a
// worker has said which rows of tables it wants.
enum class Purpose { start, training, average, evaluation, exchange, arrival, end };
Purpose purpose(std::string_view program);

// Which program a step runs. A step is one optimizer step; evaluation runs between steps.
struct Schedule {
  std::int64_t steps = 0;
  std::int64_t full_steps_per_epoch = 0;  // an epoch begins with so many of program "train"
  std::vector<std::int64_t> tails;  // and goes on with so many of "tail", of "tail2", ..., in which
                                    // the ranks take fewer samples
  std::int64_t evaluate_every_steps = 0;  // 0: never; also after the last step
  std::int64_t average_every_steps = 0;   // of ranks with a program "average", which runs at every
                                          // evaluation and after the last step anyway
  std::int64_t local_steps = 0;           // more than 0: the last of every so many steps is one of
                                 // "train_average", "tail_average", ..., by which ranks meet
  bool operator==(const Schedule&) const = default;

  static std::string tail_name(std::size_t number);   // of tails[number]
  static std::string averaging(std::string program);  // "train_average", the one of "train"
  static bool is_averaging(std::string_view program);
  std::vector<std::string> training() const;  // the programs of all steps there may be
  std::int64_t steps_per_epoch() const;
  std::string program(std::int64_t step) const;
  bool evaluates_after(std::int64_t step) const;
  bool averages_after(std::int64_t step) const;  // ranks with a program for it
  bool ends_local_steps(std::int64_t step) const {
    return local_steps > 0 && (step + 1) % local_steps == 0;
  }
  bool meets_at_times() const { return local_steps > 1; }  // and at other steps not
  std::string stretch(
      std::int64_t step) const;  // the program of the step if it ended no local ones
};

struct Plan {
  std::int32_t ranks = 0;
  std::vector<Group> groups;
  Schedule schedule;
  std::function<RankPlan(std::int32_t rank)> rank_plan;  // pure; made when asked for
};

// What travels with an op of servers and their workers: the first that it reads, of one that sends,
// or writes. Null: what is asked of a server is no data. Of one that carries named rows alone, at
// most so much.
const Access* carried(const Op& op);

// How the rows of a table are named in a list, which is a buffer of int32: how many they are,
// whether all of the table are wanted besides, and then their numbers, ascending, from the first
// row of the span that is meant. All but how many travels.
inline constexpr std::int64_t kListHead = 2, kListHeadSent = 1;

// Whether a rank trains nothing and serves nobody: it measures held-out samples, by parameters that
// come from elsewhere. Such ranks are the last ones.
bool evaluates_alone(const RankPlan& rank);
// The ranks that train and serve: all that there is to simulate.
Plan without_evaluators(Plan plan);

// A plan whose ranks are all there, as text parses to.
Plan from_ranks(std::vector<Group> groups, Schedule schedule, std::vector<RankPlan> ranks);

// How a kind is bound to comm: works on a bucket of a group, mostly together with others.
bool communicates(OpKind kind);
bool coarse(OpKind kind);       // a whole collective
bool reads_peers(OpKind kind);  // recv, recv_reduce, reduce_many
bool sends_away(OpKind kind);   // names its peer as a receiver: send, reduce, gather, push
bool serves(OpKind kind);       // between workers and servers: turn, push, pull, take, give
bool pairs_up(OpKind kind);     // between an active and a passive rank: offer, agree, answer

// The ranks that a reduce_many adds up, itself included, in order.
const std::vector<std::int32_t>& summands(const Op& op, const std::vector<Group>& groups);

}  // namespace trainyard::plan
