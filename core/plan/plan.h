// SPDX-License-Identifier: GPL-3.0-or-later
// The plan: the ops of every rank, as data. A rank has a few programs. A program is a list of ops
// on in-order lanes with explicit dependencies; the schedule names the program of each step. A plan
// holds only integers and names, so that its hash is the same on all machines.
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
  load,  // LOAD.m0: loads the step's samples
  rows,  // ROWS.b0: lists the table rows that the samples of the next round look up
  rate,  // RATE: writes the step's learning rate and number
  // STAT.s2.m0: batch norm sums over the rank's samples; F then reads the sums over the samples of
  // all ranks
  statistics,
  // PART.s0.m0: a layer's products with the rank's columns; F then reads their sum over all ranks
  partial,
  forward,  // F.s2.m0
  // R.s2.m0: recomputes a segment's output for the backward pass (activation checkpointing)
  recompute,
  // SOFTMAX.m0: per-row softmax terms over the rank's classes; LOSS then reads those of all ranks
  softmax,
  loss,            // LOSS.m0: loss; also the gradient at the model's output if it is written
  backward_input,  // B.s2.m0
  // W.s2.m0: accumulates into the gradient if it also reads it; the last W of a step writes the
  // segment's local squared norm
  backward_weight,
  zero,            // ZERO.s2: zeroes a segment's gradient where a rank has no samples
  all_reduce,      // AR.b1: coarse, as the next six; every member gets the sum of a bucket
  reduce_scatter,  // RS.b1: each member gets its chunk of the sum
  all_gather,      // AG.b1: every member gets all chunks
  broadcast,       // BCAST.b1<r0: every member gets the root's bucket
  reduce,          // REDUCE.b1>r0: the root gets the sum
  scatter,         // SCATTER.b1<r0: each member gets its chunk of the root's bucket
  gather,          // GATHER.b1>r0: the root gets all chunks
  // ENC.b1: encodes the payload of collective b1; first operand: the bucket's gradient, or the
  // residual that includes it
  encode,
  // DEC.b1: decodes the payload of b1 and its related buckets; first output: the bucket's reduced
  // gradient
  decode,
  norm,    // NORM.s2: squared norm of a segment's reduced gradient, as its update reads it
  clip,    // CLIP: factor that limits the norm of the full gradient
  update,  // UPD.s2: the optimizer, on one segment
  cast,    // CAST.s2: a segment's parameters, cast to the compute dtype
  scale,   // SCALE: loss scale of the next step, by whether this step's gradient is finite
  // STASH.s2.m0: stashes a segment's parameters for the backward pass of the micro-batches whose
  // forward pass used them
  stash,
  swap_out,  // OUT.s2.m0: offloads a buffer to host memory or disk until it is needed
  swap_in,   // IN.s2.m0: fetches an offloaded buffer
  // WEIGH.s2: a segment's parameters times the rank's share of the step's samples, so that their
  // sum over ranks is the mean
  weigh,
  // MIX.b1<r0,r1,r3: weighted sum of these ranks' spans, one span each, in this order; without
  // ranks: of local spans
  mix,
  send,         // SEND.b1.t0.c3>r1: bucket, round, chunk, destination
  recv,         // RECV.b1.t0.c3-5<r1: overwrites the chunks
  recv_reduce,  // RED.b1.t0.c3<r1: adds to the chunk
  // SUM.b1.t0.c3<r0,r2: sums over these ranks, including itself, in this order; without ranks: over
  // all of the group, by position
  reduce_many,
  copy,  // COPY.b1.t1.c0: copies a sum that reduce_many left in scratch to its destination
  pack,  // PACK.b0: packs the named rows of a table's gradient contiguously
  // TURN<r4: receives a worker's next work assignment from the server that assigns rounds
  // (run/control/work_assignment.h)
  turn,
  // PUSH.b1>r4: sends a worker's gradient, or the list of rows it wants, to a server that gathers
  // by its rule; without a bucket: requests work, or leaves
  push,
  pull,  // PULL.b1<r4: receives parameters, all of one version
  // TAKE.b1: on a server, adds a worker's pushed gradient to the gathered gradient or drops it; or
  // reads the list of rows the worker wants
  take,
  give,  // GIVE.b1: on a server, sends a work assignment or parameters to a worker that may have it
  offer,  // OFFER: an active rank sends its parameters to its partner of the step (pairing.h)
  agree,  // AGREE: an active rank receives the average from its partner
  // ANSWER<r2: a passive rank averages its parameters with those r2 offers; writes the result to
  // itself and, as second output, sends it to r2
  answer,
};

// Elements [first, first + count) of a buffer.
struct Access {
  BufferId buffer;
  std::int64_t first = 0, count = 0;
  bool operator==(const Access&) const = default;
};

// Coefficients of a weighted sum, one per span that is read: numerators[i] / denominator.
struct Weights {
  std::vector<std::int64_t> numerators;
  std::int64_t denominator = 1;
  bool operator==(const Weights&) const = default;
};

// The op may start once `sequence` ops of `lane` are complete, in this instance of the program or
// in the one `steps_back` before it. An instance with fewer ops on the lane counts as complete when
// they are.
struct Dependency {
  static constexpr std::int32_t end = -1;  // as `sequence`: all ops of the lane
  LaneId lane;
  std::int32_t sequence = 0;
  std::int32_t steps_back = 0;
  bool operator==(const Dependency&) const = default;
};

// Features of a sample that a rank holds: [first, first + count) out of `of`.
struct Columns {
  std::int64_t first = 0, count = 0, of = 0;
  bool any() const { return count > 0; }
  bool operator==(const Columns&) const = default;
};

struct Op {
  OpKind kind = OpKind::load;
  LaneId lane;
  // Fields of the token; -1 if the kind has none.
  std::int32_t segment = -1, micro = -1, bucket = -1, round = -1, chunk = -1, peer = -1, group = -1;
  std::int32_t chunks = 1;  // number of chunks, starting at `chunk`
  std::vector<std::int32_t>
      summands;  // reduce_many: ranks, if not the full group; mix: rank of each span that it reads
  // mix: coefficient of each span that it reads; loss, if each micro-batch is an update: its
  // samples as a fraction of those on all ranks
  Weights weights = {};
  Columns columns;  // load, partial and backward_weight: the rank's features, if it has only some
  // collectives that split a bucket into chunks: elements of a row, which is never split across
  // chunks
  std::int64_t row = 1;
  // pack, push, pull, take and give: only the table rows that the last access it reads lists, `row`
  // elements each
  bool named = false;
  std::vector<Access> reads, writes;
  std::vector<Dependency> after;
  std::int64_t flops = 0;
  bool operator==(const Op&) const = default;
};

enum class LaneKind : std::uint8_t { input, compute, comm, send, recv, copy };

// Lane: its ops start and complete in order. Ops of one round of one bucket may be in progress
// together.
struct Lane {
  std::string name;  // "compute", "send.g0"
  LaneKind kind = LaneKind::compute;
  std::int32_t group = -1;  // group of comm, send and recv lanes
  bool operator==(const Lane&) const = default;
};

// Memory that holds a buffer.
enum class MemoryKind : std::uint8_t { device, host, disk };

struct Buffer {
  std::string name;  // "grads", "act.s1"
  base::DType dtype = base::DType::fp32;
  std::int64_t elements = 0;
  bool shared = false;  // peers read the buffer in place
  MemoryKind place = MemoryKind::device;
  bool operator==(const Buffer&) const = default;
  std::int64_t bytes() const { return elements * base::size_of(dtype); }
};

// Postcondition of a bucket whose collective was expanded to chunks, or that neighbors mix (kind
// `mix`: every rank gets its weighted sum). Buckets without an entry are all-reduced: every member
// has the sum.
struct Wanted {
  OpKind kind = OpKind::all_reduce;  // a coarse kind, or mix
  std::int32_t group = -1, bucket = -1;
  std::int32_t root = -1;  // root rank
  Access span;             // the bucket
  std::int64_t row = 1;    // `row` of the op
  bool operator==(const Wanted&) const = default;
};

struct Program {
  std::string name;  // "start", "train", "tail", "tail2", ..., "train_average", ..., "average",
                     // "evaluate", "evaluate_tail", "end"
  std::int64_t samples = 0;         // samples of this rank
  std::int64_t global_samples = 0;  // over all ranks
  std::int64_t repeats = 1;         // evaluation: runs in a row
  std::vector<Op> ops;
  std::vector<Wanted> wanted = {};  // by bucket, for buckets that are not all-reduced
  bool operator==(const Program&) const = default;
};

struct RankPlan {
  std::int32_t rank = 0;
  std::vector<Lane> lanes;
  std::vector<Buffer> buffers;
  std::vector<Program> programs;
  // set on a server, which runs on arrival instead of by steps; its programs are "arrival",
  // "update", "answer"
  std::optional<ArrivalRule> rule = {};
  // Pairings of a rank that averages with one neighbor at a time. Active rank: its own pairing.
  // Passive rank: the pairings of all ranks that may ask it; its program "answer" has one op for
  // each of them, run on arrival.
  std::vector<Pairing> pairs = {};

  BufferId buffer(std::string_view name) const;  // invalid if not found
  int program(std::string_view name) const;      // -1 if not found
  // true for a passive rank
  bool answers() const { return !pairs.empty() && pairs.front().active != rank; }
  bool operator==(const RankPlan&) const = default;
};

struct Group {
  std::vector<std::int32_t> ranks;  // ranks by position in the group
  bool operator==(const Group&) const = default;
  int position(std::int32_t rank) const;  // -1 if not a member
};

// Purpose of a program, derived from its name. "start" runs once, before the first step, and "end"
// once, after the last. If ranks have local parameters, "average" runs before an evaluation, which
// then uses the average, and wherever the schedule measures how far the ranks' parameters differ. A
// worker of servers also has "turn", before every round, and "last" and "leave", after all rounds.
// A server's programs run on arrival: "arrival", "update", "answer", and "named" after a worker
// listed the table rows it wants.
enum class Purpose { start, training, average, evaluation, exchange, arrival, end };
Purpose purpose(std::string_view program);

// Program of each step. A step is one optimizer step; evaluation runs between steps.
struct Schedule {
  std::int64_t steps = 0;
  std::int64_t full_steps_per_epoch = 0;  // an epoch begins with this many steps of program "train"
  // then this many steps of "tail", of "tail2", ..., with fewer samples per rank
  std::vector<std::int64_t> tails;
  std::int64_t evaluate_every_steps = 0;  // 0: never; evaluation also runs after the last step
  // for ranks with a program "average", which also runs at every evaluation and after the last step
  std::int64_t average_every_steps = 0;
  // if > 0: the last of every `local_steps` steps is "train_average", "tail_average", ..., in which
  // ranks synchronize
  std::int64_t local_steps = 0;
  bool operator==(const Schedule&) const = default;

  static std::string tail_name(std::size_t number);   // name of tails[number]
  static std::string averaging(std::string program);  // returns "train_average" for "train"
  static bool is_averaging(std::string_view program);
  std::vector<std::string> training() const;  // programs of all possible steps
  std::int64_t steps_per_epoch() const;
  std::string program(std::int64_t step) const;
  bool evaluates_after(std::int64_t step) const;
  bool averages_after(std::int64_t step) const;  // for ranks with a program "average"
  bool ends_local_steps(std::int64_t step) const {
    return local_steps > 0 && (step + 1) % local_steps == 0;
  }
  bool synchronizes_periodically() const {
    return local_steps > 1;
  }  // true if only some steps synchronize
  std::string stretch(
      std::int64_t step) const;  // program of the step, ignoring the end of local steps
};

struct Plan {
  std::int32_t ranks = 0;
  std::vector<Group> groups;
  Schedule schedule;
  std::function<RankPlan(std::int32_t rank)> rank_plan;  // pure; computed on demand
};

// Returns the access that travels with an op of servers and workers: the first one read if the op
// sends, else the first one written. Null for requests without data. If only named rows travel, its
// size is an upper bound.
const Access* carried(const Op& op);

// Layout of a list of table rows (an int32 buffer): the number of rows, a flag that all rows are
// also wanted, then the row numbers, ascending and relative to the first row of the span.
// Everything but the number of rows is sent.
inline constexpr std::int64_t kListHead = 2, kListHeadSent = 1;

// True if a rank neither trains nor serves: it evaluates held-out samples with parameters from
// other ranks. Such ranks come last.
bool is_evaluator(const RankPlan& rank);
// Returns the plan without its evaluators: the ranks that train and serve, which is all that is
// simulated.
Plan without_evaluators(Plan plan);

// Creates a plan from materialized ranks, as the parser does.
Plan from_ranks(std::vector<Group> groups, Schedule schedule, std::vector<RankPlan> ranks);

// True if the kind runs on comm: it works on a bucket of a group, mostly together with other ranks.
bool communicates(OpKind kind);
bool coarse(OpKind kind);             // a full collective
bool reads_peers(OpKind kind);        // recv, recv_reduce, reduce_many
bool names_destination(OpKind kind);  // names its peer as a destination: send, reduce, gather, push
bool serves(OpKind kind);             // between workers and servers: turn, push, pull, take, give
bool pairs_up(OpKind kind);           // between an active and a passive rank: offer, agree, answer

// Returns the ranks that a reduce_many sums, itself included, in order.
const std::vector<std::int32_t>& summands(const Op& op, const std::vector<Group>& groups);

}  // namespace trainyard::plan
