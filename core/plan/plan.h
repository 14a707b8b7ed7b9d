// SPDX-License-Identifier: GPL-3.0-or-later
// The plan: the ops of every rank, as data. A rank has a few programs. A program is a list of ops.
// Each op is on a lane, which runs its ops in order, and may depend on ops of other lanes. The
// schedule names the program of each step. A plan holds only integers and names, so that its hash
// is the same on all machines.
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
#include "core/plan/gossip_pair.h"

namespace trainyard::plan {

struct LaneTag;
struct BufferTag;
using LaneId = base::Id<LaneTag>;
using BufferId = base::Id<BufferTag>;

enum class OpKind : std::uint8_t {
  load,  // LOAD.m0: loads the step's samples
  rows,  // ROWS.b0: lists the table rows that the samples of the next round look up
  rate,  // RATE: writes the learning rate and the number of the step
  // STAT.s2.m0: batch norm sums over the rank's samples; F then reads the sums over the samples of
  // all ranks
  statistics,
  // PART.s0.m0: a layer's products with the rank's columns; F then reads their sum over all ranks
  partial,
  forward,  // F.s2.m0: computes a segment's output
  // R.s2.m0: recomputes a segment's output for the backward pass (activation checkpointing)
  recompute,
  // SOFTMAX.m0: softmax terms of each row over the rank's classes; LOSS then reads the terms of all
  // ranks
  softmax,
  loss,            // LOSS.m0: loss; also the gradient at the model's output if it is written
  backward_input,  // B.s2.m0: computes the gradient at a segment's input
  // W.s2.m0: computes the gradient of a segment's parameters; adds it to the previous gradient if
  // the op also reads the gradient. The last W of a step also writes the squared norm of the
  // segment's local gradient
  backward_weight,
  zero,  // ZERO.s2: zeroes a segment's gradient where a rank has no samples
  // AR.b1: every member gets the sum of a bucket; this and the next six kinds are full collectives,
  // which can be expanded
  all_reduce,
  reduce_scatter,  // RS.b1: each member gets its chunk of the sum
  all_gather,      // AG.b1: every member gets all chunks
  broadcast,       // BCAST.b1<r0: every member gets the root's bucket
  reduce,          // REDUCE.b1>r0: the root gets the sum
  scatter,         // SCATTER.b1<r0: each member gets its chunk of the root's bucket
  gather,          // GATHER.b1>r0: the root gets all chunks
  // ENC.b1: encodes the payload of collective b1; first operand: the bucket's gradient, or the
  // residual that includes it
  encode,
  // DEC.b1: decodes the payload of collective b1 and, for power_sgd, of its second collective;
  // first output: the bucket's reduced gradient
  decode,
  norm,    // NORM.s2: squared norm of a segment's reduced gradient, which its update will read
  clip,    // CLIP: factor that limits the norm of the full gradient
  update,  // UPD.s2: optimizer update of one segment
  cast,    // CAST.s2: a segment's parameters, cast to the compute dtype
  // SCALE: sets the loss scale of the next step; depends on whether this step's gradient is finite
  scale,
  // STASH.s2.m0: saves a segment's current parameters, for the backward passes of micro-batches
  // whose forward pass used these parameters
  stash,
  offload,  // OUT.s2.m0: offloads a buffer to host memory or disk until it is needed
  // IN.s2.m0: fetches an offloaded buffer
  fetch,
  // WEIGH.s2: multiplies a segment's parameters by the rank's fraction of the step's samples, so
  // that the sum over ranks is the weighted mean
  weigh,
  // MIX.b1<r0,r1,r3: weighted sum of the parameters of these ranks; the op reads one span per rank,
  // in this order; without ranks: weighted sum of spans of this rank
  mix,
  send,         // SEND.b1.t0.c3>r1: bucket, round, chunk, destination
  recv,         // RECV.b1.t0.c3-5<r1: overwrites the chunks
  recv_reduce,  // RED.b1.t0.c3<r1: adds to the chunk
  // SUM.b1.t0.c3<r0,r2: sums the chunk over these ranks, including the local one, in this order;
  // without ranks: sums over all ranks of the group, in order of position
  reduce_many,
  copy,  // COPY.b1.t1.c0: copies a sum that reduce_many left in scratch to its destination
  pack,  // PACK.b0: copies the listed rows of a table's gradient to contiguous memory
  // TURN<r4: receives a worker's next work assignment from the server that assigns rounds
  // (run/control/work_assignment.h)
  turn,
  // PUSH.b1>r4: sends a worker's gradient, or the list of table rows that it needs, to a server;
  // without a bucket: requests work, or announces that the worker leaves
  push,
  pull,  // PULL.b1<r4: receives parameters, all of one version
  // TAKE.b1: on a server, receives what a worker pushed. A gradient is added to the update or
  // dropped; a list tells which table rows the worker needs
  take,
  give,  // GIVE.b1: on a server, sends a work assignment or parameters to a worker that may have it
  offer,  // OFFER: an active rank sends its parameters to its partner of the step (gossip_pair.h)
  agree,  // AGREE: an active rank receives the average from its partner
  // ANSWER<r2: a passive rank averages its parameters with those that r2 offers; writes the average
  // to its parameters and to its second output, which r2 receives
  answer,
};

// Elements [first, first + count) of a buffer.
struct Access {
  BufferId buffer;
  std::int64_t first = 0, count = 0;
  bool operator==(const Access&) const = default;
};

// Coefficients of a weighted sum, one per span that the op reads. Coefficient i is numerators[i] /
// denominator.
struct Weights {
  std::vector<std::int64_t> numerators;
  std::int64_t denominator = 1;
  // For a mix of one span: its weight is the rank's fraction of the samples of all ranks since
  // their last average (sample_count.h). The numerators are then {1}.
  bool by_samples = false;
  bool operator==(const Weights&) const = default;
};

// The op may start once the first `sequence` ops of `lane` are complete. These are ops of the same
// program instance (one execution of a program, frontier.h), or of the instance that is
// `steps_back` instances earlier. If that instance has fewer ops on the lane, all of them must be
// complete.
struct Dependency {
  static constexpr std::int32_t end = -1;  // value of `sequence`: all ops of the lane
  LaneId lane;
  std::int32_t sequence = 0;
  std::int32_t steps_back = 0;
  bool operator==(const Dependency&) const = default;
};

// Columns (features of a sample, or outputs of a layer) that a rank holds: [first, first + count)
// of a total of `of`.
struct Columns {
  std::int64_t first = 0, count = 0, of = 0;
  bool any() const { return count > 0; }
  bool operator==(const Columns&) const = default;
};

struct Op {
  OpKind kind = OpKind::load;
  LaneId lane;
  // Numbers in the op's token, such as segment 2 and micro-batch 0 in F.s2.m0. A number is -1 if
  // ops of this kind do not have it.
  std::int32_t segment = -1, micro = -1, bucket = -1, round = -1, chunk = -1, peer = -1, group = -1;
  std::int32_t chunks = 1;  // number of chunks, starting at `chunk`
  // reduce_many: ranks whose chunks are summed (empty: the full group); mix: rank of each span that
  // the op reads
  std::vector<std::int32_t> summands;
  // mix: coefficient of each span that the op reads; loss, if each micro-batch is an update: the
  // rank's samples divided by the samples of all ranks
  Weights weights = {};
  Columns columns;  // load, partial and backward_weight: the rank's features, if it has only some
  // for collectives that split a bucket into chunks: number of elements of a row; no row is split
  // across chunks
  std::int64_t row = 1;
  // for pack, push, pull, take and give: true if the op transfers only listed table rows, of `row`
  // elements each; the list is the last access that the op reads
  bool named = false;
  std::vector<Access> reads, writes;
  std::vector<Dependency> after;
  std::int64_t flops = 0;
  bool operator==(const Op&) const = default;
};

enum class LaneKind : std::uint8_t { input, compute, comm, send, recv, copy };

// Lane of a rank. The ops of a lane start and complete in order, except that ops of one round of
// one bucket may be in progress together.
struct Lane {
  std::string name;  // name of the lane, such as "compute" or "send.g0"
  LaneKind kind = LaneKind::compute;
  std::int32_t group = -1;  // group of comm, send and recv lanes
  bool operator==(const Lane&) const = default;
};

// Kind of memory that holds a buffer.
enum class MemoryKind : std::uint8_t { device, host, disk };

struct Buffer {
  std::string name;  // name of the buffer, such as "grads" or "act.s1"
  base::DType dtype = base::DType::fp32;
  std::int64_t elements = 0;
  bool shared = false;  // true if peers read the buffer in place
  MemoryKind place = MemoryKind::device;
  bool operator==(const Buffer&) const = default;
  std::int64_t bytes() const { return elements * base::size_of(dtype); }
};

// Result that a bucket must have at the end of the program. A program has such an entry for every
// collective that was expanded to chunks, and for the averages of gossip (kind `mix`: every rank
// gets its weighted sum). A bucket without an entry is all-reduced: at the end every member has the
// sum.
struct Wanted {
  OpKind kind = OpKind::all_reduce;  // kind of the collective that was expanded, or mix
  std::int32_t group = -1, bucket = -1;
  std::int32_t root = -1;  // root rank
  Access span;             // elements of the bucket
  std::int64_t row = 1;    // same as `row` of the collective op
  bool operator==(const Wanted&) const = default;
};

struct Program {
  // name of the program: "start", "train", "tail", "tail2", ..., "train_average", ..., "average",
  // "evaluate_state", "evaluate", "evaluate_tail", "end"
  std::string name;
  std::int64_t samples = 0;         // samples of this rank
  std::int64_t global_samples = 0;  // samples of all ranks
  std::int64_t repeats = 1;         // for an evaluation: number of consecutive runs
  std::vector<Op> ops;
  std::vector<Wanted> wanted = {};  // results of buckets that are not all-reduced
  bool operator==(const Program&) const = default;
};

struct RankPlan {
  std::int32_t rank = 0;
  std::vector<Lane> lanes;
  std::vector<Buffer> buffers;
  std::vector<Program> programs;
  // set on a server, whose programs "arrival", "update" and "answer" run when messages arrive, not
  // by steps
  std::optional<ArrivalRule> rule = {};
  // Pairs of a rank that averages with one neighbor at a time. An active rank has its own pair. A
  // passive rank has the pairs of all active ranks that may make it an offer. Its program "answer"
  // has one op for each of these active ranks; the op runs when an offer of that rank arrives.
  std::vector<GossipPair> pairs = {};

  // returns an invalid id if the plan has no such buffer
  BufferId buffer(std::string_view name) const;
  int program(std::string_view name) const;  // returns -1 if not found
  // true for a passive rank
  bool answers() const { return !pairs.empty() && pairs.front().active != rank; }
  bool operator==(const RankPlan&) const = default;
};

struct Group {
  std::vector<std::int32_t> ranks;  // ranks of the members, by position
  bool operator==(const Group&) const = default;
  int position(std::int32_t rank) const;  // returns -1 if the rank is no member
};

// Purpose of a program, derived from its name. "start" runs once, before the first step, and "end"
// once, after the last. If ranks have local parameters, "average" runs before every evaluation,
// which then uses the average. It also runs after steps at which the schedule measures how far the
// ranks' parameters differ. A worker of parameter servers also has "turn", before every round, and
// "last" and "leave", after all rounds. A server's programs run when messages arrive: "arrival",
// "update", "answer", and "named" after a worker has listed the table rows that it needs.
//
// An evaluation runs the programs kEvaluationPrograms that the rank has, in this order.
// "evaluate_state" gives replicas the running statistics of the chief's replica.
inline constexpr const char* kEvaluationPrograms[] = {"evaluate_state", "evaluate",
                                                      "evaluate_tail"};
enum class Purpose { start, training, average, evaluation, exchange, arrival, end };
Purpose purpose(std::string_view program);

// Program of each step. A step is one optimizer step; evaluation runs between steps.
struct Schedule {
  std::int64_t steps = 0;
  // number of steps of program "train" at the beginning of an epoch
  std::int64_t full_steps_per_epoch = 0;
  // for each of the programs "tail", "tail2", ...: its number of steps. These steps follow in the
  // epoch and have fewer samples per rank
  std::vector<std::int64_t> tails;
  std::int64_t evaluate_every_steps = 0;  // 0: never; evaluation also runs after the last step
  // interval in steps of program "average", for ranks that have it; "average" also runs at every
  // evaluation and after the last step
  std::int64_t average_every_steps = 0;
  // if > 0: the last of every `local_steps` steps runs "train_average", "tail_average", ..., in
  // which ranks synchronize
  std::int64_t local_steps = 0;
  bool operator==(const Schedule&) const = default;

  // returns the name of the tail program with this number: "tail", "tail2", ...
  static std::string tail_name(std::size_t number);
  static std::string averaging(std::string program);  // returns "train_average" for "train"
  static bool is_averaging(std::string_view program);
  std::vector<std::string> training() const;  // names of all training programs that may run
  std::int64_t steps_per_epoch() const;
  std::string program(std::int64_t step) const;
  bool evaluates_after(std::int64_t step) const;
  bool averages_after(std::int64_t step) const;  // true if "average" runs after the step
  bool ends_local_steps(std::int64_t step) const {
    return local_steps > 0 && (step + 1) % local_steps == 0;
  }
  bool synchronizes_periodically() const {
    return local_steps > 1;
  }  // true if only some steps synchronize
  // returns the program of the step without regard to `local_steps`: "train", not "train_average"
  std::string stretch(std::int64_t step) const;
};

struct Plan {
  std::int32_t ranks = 0;
  std::vector<Group> groups;
  Schedule schedule;
  // function that returns the plan of one rank; it is pure, so plans of single ranks can be
  // computed separately
  std::function<RankPlan(std::int32_t rank)> rank_plan;
};

// Returns the access to the data that an op transfers between server and worker: the first read
// access of an op that sends, the first write access of one that receives. Null for requests
// without data. If only listed rows are transferred, the size is an upper bound.
const Access* carried(const Op& op);

// Layout of a list of table rows (an int32 buffer): the number of listed rows, a flag that the
// worker needs all rows, then the row numbers. The row numbers are ascending, and relative to the
// first row of the span. All elements except the number of rows are sent.
inline constexpr std::int64_t kListHead = 2, kListHeadSent = 1;

// True if a rank neither trains nor serves: it evaluates held-out samples with parameters from
// other ranks. Evaluators have the highest rank numbers.
bool is_evaluator(const RankPlan& rank);
// Returns the plan without its evaluators. The simulator uses this plan, because evaluators do not
// affect the other ranks.
Plan without_evaluators(Plan plan);

// Creates a plan from the plans of all ranks, as the parser does.
Plan from_ranks(std::vector<Group> groups, Schedule schedule, std::vector<RankPlan> ranks);

// True if ops of this kind run on communication lanes: they transfer a bucket of a group, mostly
// together with other ranks.
bool communicates(OpKind kind);
bool coarse(OpKind kind);       // true for a collective that is not expanded
bool reads_peers(OpKind kind);  // kinds that read data of peers: recv, recv_reduce, reduce_many
// kinds of ops whose token names a destination (>r): send, reduce, gather, push
bool names_destination(OpKind kind);
// kinds of ops that transfer data between workers and servers: turn, push, pull, take, give
bool serves(OpKind kind);
// kinds of ops that transfer data between an active and a passive rank: offer, agree, answer
bool gossips_in_pairs(OpKind kind);

// Returns the size in bytes of the largest buffer range that an op of the rank sends or receives.
std::int64_t max_message_bytes(const RankPlan& rank);

// Returns the ranks that a reduce_many sums, including the local one, in order.
const std::vector<std::int32_t>& summands(const Op& op, const std::vector<Group>& groups);

}  // namespace trainyard::plan
