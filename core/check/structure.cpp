// SPDX-License-Identifier: GPL-3.0-or-later
// Proves structure: everything that a number refers to exists. The other proofs and the frontier
// rely on this.
#include <algorithm>
#include <set>

#include "core/check/proofs.h"
#include "core/plan/frontier.h"

namespace trainyard::check {
namespace {

using plan::Access;
using plan::Dependency;
using plan::LaneKind;
using plan::Op;
using plan::OpKind;
using plan::RankPlan;

constexpr std::int64_t kMostElements = std::int64_t{1} << 53;
// An instance may be admitted while its lanes are still in the one before, which may still depend
// on earlier instances.
constexpr std::int32_t kMostStepsBack = plan::Frontier::window - 2;

LaneKind lane_of(OpKind kind) {
  if (kind == OpKind::load || kind == OpKind::rows) return LaneKind::input;
  if (kind == OpKind::swap_out || kind == OpKind::swap_in) return LaneKind::copy;
  if (plan::coarse(kind)) return LaneKind::comm;
  if (kind == OpKind::send || kind == OpKind::push || kind == OpKind::give || kind == OpKind::offer)
    return LaneKind::send;
  return plan::communicates(kind) || plan::serves(kind) || plan::pairs_up(kind) ? LaneKind::recv
                                                                                : LaneKind::compute;
}

bool has_peer(OpKind kind) {
  return kind == OpKind::send || kind == OpKind::recv || kind == OpKind::recv_reduce;
}
bool has_root(OpKind kind) {
  return kind == OpKind::broadcast || kind == OpKind::reduce || kind == OpKind::scatter ||
         kind == OpKind::gather;
}

bool has_segment(OpKind kind) {
  return kind == OpKind::statistics || kind == OpKind::partial || kind == OpKind::forward ||
         kind == OpKind::recompute || kind == OpKind::backward_input ||
         kind == OpKind::backward_weight || kind == OpKind::zero || kind == OpKind::norm ||
         kind == OpKind::update || kind == OpKind::stash || kind == OpKind::cast ||
         kind == OpKind::weigh;
}

std::int64_t elements_of(const std::vector<Access>& accesses) {
  return accesses.empty() ? 0 : accesses.front().count;
}

std::string below(std::size_t count) {
  return count == 0 ? "none is there" : "0 to " + std::to_string(count - 1);
}

// Checks one rank of the plan.
class Inspector {
 public:
  Inspector(const Scope& scope, const RankPlan& rank, std::int32_t number, Findings& findings)
      : scope_(scope), rank_(rank), findings_(findings) {
    spot_.rank = number;
    if (rank.rank != number)
      report("calls itself rank " + std::to_string(rank.rank), std::to_string(number));
  }

  void run() {
    names(rank_.lanes, "lane");
    names(rank_.buffers, "buffer");
    names(rank_.programs, "program");
    for (const plan::Lane& lane : rank_.lanes) inspect(lane);
    for (const plan::Buffer& buffer : rank_.buffers)
      if (buffer.elements < 0 || buffer.elements > kMostElements)
        report("buffer " + buffer.name + " has " + std::to_string(buffer.elements) + " elements",
               "0 to 2^53");
    count_ops();
    for (const plan::Program& program : rank_.programs) inspect(program);
  }

 private:
  void report(const std::string& what, std::string accepted, std::string advice = "") {
    findings_.add(Proof::structure, spot_, what, std::move(accepted), std::move(advice));
  }

  template <class Things>
  void names(const Things& things, const std::string& kind) {
    std::set<std::string_view> known;
    for (const auto& thing : things) {
      if (!plan::is_name(thing.name))
        report("\"" + thing.name + "\" cannot name a " + kind,
               "a word without spaces and brackets");
      if (!known.insert(thing.name).second)
        report("two of its " + kind + "s are called " + thing.name, "names that differ");
    }
  }

  void inspect(const plan::Lane& lane) {
    const bool grouped =
        lane.kind == LaneKind::comm || lane.kind == LaneKind::send || lane.kind == LaneKind::recv;
    if (!grouped && lane.group >= 0)
      return report("lane " + lane.name + " belongs to group " + std::to_string(lane.group),
                    "no group for a lane of this kind");
    if (!grouped) return;
    if (lane.group < 0 || static_cast<std::size_t>(lane.group) >= scope_.groups.size())
      return report("lane " + lane.name + " belongs to group " + std::to_string(lane.group),
                    below(scope_.groups.size()));
    if (scope_.groups[static_cast<std::size_t>(lane.group)].position(spot_.rank) < 0)
      report("lane " + lane.name + " belongs to group " + std::to_string(lane.group) +
                 ", of which the rank is no member",
             "a group of the rank");
  }

  void count_ops() {
    most_.assign(rank_.lanes.size(), 0);
    for (const plan::Program& program : rank_.programs) {
      const auto counts = ops_by_lane(program);
      for (std::size_t l = 0; l < most_.size(); ++l) most_[l] = std::max(most_[l], counts[l]);
    }
  }
  std::vector<std::int32_t> ops_by_lane(const plan::Program& program) const {
    std::vector<std::int32_t> counts(rank_.lanes.size(), 0);
    for (const Op& op : program.ops)
      if (op.lane.valid() && op.lane.index() < counts.size()) ++counts[op.lane.index()];
    return counts;
  }

  void inspect(const plan::Program& program) {
    spot_.program = program.name;
    if (program.samples < 0 || program.global_samples < program.samples)
      report(std::to_string(program.samples) + " of " + std::to_string(program.global_samples) +
                 " samples",
             "0 to all");
    if (program.repeats < 1)
      report("repeats " + std::to_string(program.repeats) + " times", "1 or more");
    for (const plan::Wanted& wanted : program.wanted) inspect(wanted);
    total_ = ops_by_lane(program);
    seen_.assign(rank_.lanes.size(), 0);
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      spot_.op = static_cast<int>(i);
      inspect(program.ops[i]);
    }
    spot_.op = -1;
    spot_.program.clear();
  }

  void inspect(const Op& op) {
    if (!op.lane.valid() || op.lane.index() >= rank_.lanes.size())
      return report("lane " + std::to_string(op.lane.value) + " is out of range",
                    below(rank_.lanes.size()));
    const plan::Lane& lane = rank_.lanes[op.lane.index()];
    if (lane.kind != lane_of(op.kind))
      report("stands on lane " + lane.name,
             "a lane of kind " + std::string(plan::word(lane_of(op.kind))));
    for (const Access& access : op.reads) inspect(access);
    for (const Access& access : op.writes) inspect(access);
    for (const Dependency& dependency : op.after) inspect(op, dependency);
    const bool of_share = op.kind == OpKind::update && rank_.rule && op.bucket >= 0;
    if (has_segment(op.kind) && op.segment < 0 && !of_share)
      report("names no segment", "a segment");
    inspect(op.columns, op.kind);
    inspect_weights(op);
    if (plan::serves(op.kind)) inspect_served(op, lane);
    else if (plan::pairs_up(op.kind)) inspect_paired(op, lane);
    else plan::communicates(op.kind) ? inspect_transfer(op, lane) : inspect_local(op);
    ++seen_[op.lane.index()];
  }

  void inspect(const plan::Columns& columns, OpKind kind) {
    const bool may = kind == OpKind::load || kind == OpKind::softmax || has_segment(kind);
    if (columns.any() && !may) report("has columns", "none, as it works on whole rows");
    if (kind == OpKind::partial && !columns.any()) report("has no columns", "those of the rank");
    if (columns.first < 0 || columns.count < 0 || columns.of > kMostElements ||
        columns.first > columns.of - columns.count)
      report("has columns " + std::to_string(columns.first) + " to " +
                 std::to_string(columns.first + columns.count) + " of " +
                 std::to_string(columns.of),
             "columns that are there");
  }

  // A weighted sum has operands of equal length, with one weight each and, if ranks are named, one
  // rank each. A loss may have one weight, that of its samples.
  void inspect_weights(const Op& op) {
    const std::size_t weights = op.weights.numerators.size();
    if (op.kind == OpKind::loss) {
      if (weights > 1 || (weights == 1 && (op.weights.numerators[0] < 1 ||
                                           op.weights.numerators[0] > op.weights.denominator)))
        report("has weights that are no part of an update's samples", "one, as 4/8");
      return;
    }
    if (op.kind != OpKind::mix) {
      if (weights > 0 && op.kind != OpKind::answer)
        report("has weights", "none, as it is no weighted sum");
      return;
    }
    const bool alike = std::all_of(op.reads.begin(), op.reads.end(), [&](const Access& read) {
      return read.count == elements_of(op.writes);
    });
    if (op.reads.empty() || op.writes.size() != 1 || !alike)
      return report("mixes spans of different lengths, or none",
                    "spans of one length, into one as long");
    if (weights != op.reads.size() || op.weights.denominator < 1)
      report("has " + std::to_string(weights) + " weights for " + std::to_string(op.reads.size()) +
                 " spans",
             "one for each");
    if (!op.summands.empty() && op.summands.size() != op.reads.size())
      report("names " + std::to_string(op.summands.size()) + " ranks for " +
                 std::to_string(op.reads.size()) + " spans",
             "one for each");
  }

  // Rows that members share are not split, so the span must be a multiple of the row.
  void inspect_rows(std::int64_t row, const Access& span) {
    if (row < 1 || span.count % row != 0)
      report("shares out " + std::to_string(span.count) + " elements in rows of " +
                 std::to_string(row),
             "a number of whole rows");
  }

  void inspect(const plan::Wanted& wanted) {
    inspect_rows(wanted.row, wanted.span);
    if (wanted.group < 0 || static_cast<std::size_t>(wanted.group) >= scope_.groups.size())
      return report("what is wanted of bucket " + std::to_string(wanted.bucket) + " names group " +
                        std::to_string(wanted.group),
                    below(scope_.groups.size()));
    const plan::Group& group = scope_.groups[static_cast<std::size_t>(wanted.group)];
    if (group.position(spot_.rank) < 0 ||
        (has_root(wanted.kind) && group.position(wanted.root) < 0))
      report("what is wanted of bucket " + std::to_string(wanted.bucket) + " is for no members",
             "members of group " + std::to_string(wanted.group));
    inspect(wanted.span);
  }

  void inspect(const Access& access) {
    if (!access.buffer.valid() || access.buffer.index() >= rank_.buffers.size())
      return report("buffer " + std::to_string(access.buffer.value) + " is out of range",
                    below(rank_.buffers.size()));
    const plan::Buffer& buffer = rank_.buffers[access.buffer.index()];
    if (access.first < 0 || access.count < 0 || access.first > buffer.elements ||
        access.count > buffer.elements - access.first)
      report("touches " + std::to_string(access.count) + " elements from " +
                 std::to_string(access.first) + " of " + buffer.name + ", outside the buffer",
             "0 to " + std::to_string(buffer.elements));
  }

  void inspect(const Op& op, const Dependency& dependency) {
    if (!dependency.lane.valid() || dependency.lane.index() >= rank_.lanes.size())
      return report(
          "waits for lane " + std::to_string(dependency.lane.value) + ", which is out of range",
          below(rank_.lanes.size()));
    const std::string& lane = rank_.lanes[dependency.lane.index()].name;
    if (dependency.steps_back < 0 || dependency.steps_back > kMostStepsBack)
      return report("waits for lane " + lane + ", " + std::to_string(dependency.steps_back) +
                        " instances back",
                    "0 to " + std::to_string(kMostStepsBack));
    const bool here = dependency.steps_back == 0;
    const std::int32_t reach =
        here ? total_[dependency.lane.index()] : most_[dependency.lane.index()];
    if (dependency.sequence < Dependency::end || dependency.sequence > reach)
      return report("waits for sequence " + std::to_string(dependency.sequence) + " of lane " +
                        lane + ", which has " + std::to_string(reach) + " ops",
                    "0 to " + std::to_string(reach) + ", or the end");
    const bool too_far =
        dependency.sequence == Dependency::end || dependency.sequence > seen_[op.lane.index()];
    if (here && dependency.lane == op.lane && too_far)
      report("waits for itself, or for later ops of its own lane", "ops before it");
  }

  void inspect_transfer(const Op& op, const plan::Lane& lane) {
    if (op.group != lane.group)
      return report("belongs to group " + std::to_string(op.group),
                    "the group of its lane, " + std::to_string(lane.group));
    if (op.group < 0 || static_cast<std::size_t>(op.group) >= scope_.groups.size())
      return;  // the lane's finding covers this
    const plan::Group& group = scope_.groups[static_cast<std::size_t>(op.group)];
    if (has_peer(op.kind) && (group.position(op.peer) < 0 || op.peer == spot_.rank))
      report("rank " + std::to_string(op.peer) + " is no peer",
             "another member of group " + std::to_string(op.group));
    if (has_root(op.kind) && group.position(op.peer) < 0)
      report("rank " + std::to_string(op.peer) + " is no root",
             "a member of group " + std::to_string(op.group));
    if (!has_peer(op.kind) && !has_root(op.kind) && op.peer >= 0)
      report("names a peer", "the whole group");
    inspect_summands(op, group);
    if (!op.writes.empty() && op.row != 1) inspect_rows(op.row, op.writes.front());
    if (op.bucket < 0) report("names no bucket", "a bucket");
    inspect_spans(op);
  }

  void inspect_served(const Op& op, const plan::Lane& lane) {
    if (op.group != lane.group || op.group < 0 ||
        static_cast<std::size_t>(op.group) >= scope_.groups.size())
      return report("belongs to group " + std::to_string(op.group),
                    "the group of its lane, " + std::to_string(lane.group));
    const plan::Group& group = scope_.groups[static_cast<std::size_t>(op.group)];
    const bool of_worker =
        op.kind == OpKind::turn || op.kind == OpKind::push || op.kind == OpKind::pull;
    if (of_worker == rank_.rule.has_value())
      report("is done by a " + std::string(of_worker ? "server" : "worker"),
             of_worker ? "a worker" : "a server");
    if (of_worker && (group.position(op.peer) < 0 || op.peer == spot_.rank))
      report("rank " + std::to_string(op.peer) + " is no peer", "a server of the group");
    inspect_payload(op);
  }

  // Maximum number of spans: the payload, and the list of rows if they are named. A server that
  // gives may also keep a copy and pack rows. One that takes may also compensate delay, from the
  // version it gave and the current one.
  static std::size_t most_spans(const Op& op) {
    const std::size_t list = op.named ? 1 : 0;
    return op.kind == OpKind::take ? 4 + list : op.kind == OpKind::give ? 2 + 2 * list : 1 + list;
  }

  void inspect_payload(const Op& op) {
    const std::size_t spans = op.reads.size() + op.writes.size(), most = most_spans(op);
    if (spans > most)
      report("touches " + std::to_string(spans) + " spans", std::to_string(most) + " at most");
    if (op.named && (op.reads.empty() || plan::carried(op) == nullptr))
      return report("names rows of nothing", "a table, and a list of rows");
    if (!op.named) return;
    inspect_rows(op.row, *plan::carried(op));
    inspect_list(op);
  }

  void inspect_list(const Op& op) {
    const Access& list = op.reads.back();
    const bool in_range = list.buffer.valid() && list.buffer.index() < rank_.buffers.size();
    if (in_range && rank_.buffers[list.buffer.index()].dtype != base::DType::int32)
      report("names rows in " + rank_.buffers[list.buffer.index()].name, "a buffer of int32");
  }

  void inspect_paired(const Op& op, const plan::Lane& lane) {
    if (op.group != lane.group || op.group < 0 ||
        static_cast<std::size_t>(op.group) >= scope_.groups.size())
      return report("belongs to group " + std::to_string(op.group),
                    "the group of its lane, " + std::to_string(lane.group));
    const bool answers = op.kind == OpKind::answer;
    if (rank_.pairs.empty() || rank_.answers() != answers)
      report("is done by a rank that does not " + std::string(answers ? "answer" : "ask"),
             "the other one");
    if (answers && (scope_.groups[static_cast<std::size_t>(op.group)].position(op.peer) < 0 ||
                    op.peer == spot_.rank))
      report("rank " + std::to_string(op.peer) + " is no peer",
             "another member of group " + std::to_string(op.group));
    const std::size_t reads = op.kind == OpKind::agree ? 0 : 1, writes = op.kind == OpKind::offer
                                                                             ? 0
                                                                         : answers ? 2
                                                                                   : 1;
    if (op.reads.size() != reads || op.writes.size() != writes)
      report("reads " + std::to_string(op.reads.size()) + " and writes " +
                 std::to_string(op.writes.size()) + " spans",
             std::to_string(reads) + " and " + std::to_string(writes));
    if (answers && (op.weights.numerators.size() != 2 || op.weights.denominator < 1))
      report("has no two weights", "one for either rank");
  }

  void inspect_summands(const Op& op, const plan::Group& group) {
    if (op.summands.empty()) return;
    const std::set<std::int32_t> distinct(op.summands.begin(), op.summands.end());
    const bool members = std::all_of(op.summands.begin(), op.summands.end(),
                                     [&](std::int32_t rank) { return group.position(rank) >= 0; });
    if (!members || distinct.size() != op.summands.size() || !distinct.contains(spot_.rank))
      report("adds up ranks that repeat, are no members, or leave itself out",
             "members of group " + std::to_string(op.group) + ", itself included");
  }

  void inspect_spans(const Op& op) {
    const std::size_t reads = op.kind == OpKind::recv ? 0 : 1,
                      writes = op.kind == OpKind::send ? 0 : 1;
    if (op.reads.size() != reads || op.writes.size() != writes)
      return report("reads " + std::to_string(op.reads.size()) + " and writes " +
                        std::to_string(op.writes.size()) + " spans",
                    std::to_string(reads) + " and " + std::to_string(writes));
    if (reads + writes < 2 || op.reads == op.writes) return;
    const bool may_move =
        op.kind == OpKind::copy || op.kind == OpKind::reduce_many;  // into scratch, and back
    if (!may_move || op.reads.front().buffer == op.writes.front().buffer ||
        op.reads.front().count != op.writes.front().count)
      report("adds up into another span than it reads",
             may_move ? "one span, or one as long in another buffer" : "one span");
  }

  void inspect_local(const Op& op) {
    if (op.group >= 0 || op.peer >= 0)
      report("names a group or a peer", "neither, as it does not communicate");
    if (op.kind == OpKind::pack) return inspect_packed(op);
    if (op.row != 1 || op.named) report("has rows", "none, as it shares out nothing");
    if (op.kind != OpKind::encode && op.kind != OpKind::decode) return;
    if (op.bucket < 0) report("names no bucket", "a bucket");
    if (op.reads.empty() || op.writes.empty())
      report("reads or writes nothing", "what it codes, and what comes of it");
  }

  void inspect_packed(const Op& op) {
    if (op.bucket < 0) report("names no bucket", "a bucket");
    if (!op.named || op.reads.size() != 2 || op.writes.size() != 2)
      return report("packs no named rows", "a table and a list, into rows and how many they are");
    inspect_rows(op.row, op.reads.front());
    inspect_rows(op.row, op.writes.front());
    inspect_list(op);
  }

  const Scope& scope_;
  const RankPlan& rank_;
  Findings& findings_;
  Spot spot_;
  std::vector<std::int32_t> most_, total_,
      seen_;  // ops by lane: in the longest program, in this one, before this op
};

void inspect_groups(const Scope& scope, Findings& findings) {
  for (std::size_t g = 0; g < scope.groups.size(); ++g) {
    const auto& members = scope.groups[g].ranks;
    const std::set<std::int32_t> distinct(members.begin(), members.end());
    const bool in_range = std::all_of(members.begin(), members.end(), [&](std::int32_t r) {
      return r >= 0 && static_cast<std::size_t>(r) < scope.ranks.size();
    });
    if (members.empty() || distinct.size() != members.size() || !in_range)
      findings.add(
          Proof::structure, Spot{},
          "group " + std::to_string(g) + " is empty, names a rank twice, or one that is not there",
          "different ranks, " + below(scope.ranks.size()), "");
  }
}

// Every rank has the programs of the schedule, and their samples add up.
void inspect_schedule(const Scope& scope, Findings& findings) {
  const plan::Schedule& schedule = scope.schedule;
  for (const std::string& name : schedule.training()) {
    std::int64_t samples = 0, global = -1;
    for (std::size_t r = 0; r < scope.ranks.size(); ++r) {
      const int number = scope.ranks[r].program(name);
      if (number < 0)
        return findings.add(Proof::structure, Spot{static_cast<std::int32_t>(r), "", -1},
                            "has no program " + name + ", which the schedule names", "", "");
      const plan::Program& program = scope.ranks[r].programs[static_cast<std::size_t>(number)];
      samples += program.samples;
      if (global < 0) global = program.global_samples;
      if (program.global_samples != global)
        findings.add(Proof::structure, Spot{static_cast<std::int32_t>(r), program.name, -1},
                     "counts " + std::to_string(program.global_samples) +
                         " samples over all ranks, rank 0 " + std::to_string(global),
                     "one number", "");
    }
    if (global >= 0 && samples != global)
      findings.add(Proof::structure, Spot{},
                   "the samples of program " + name + " add up to " + std::to_string(samples),
                   std::to_string(global), "");
  }
}

}  // namespace

void prove_structure(const Scope& scope, Findings& findings) {
  inspect_groups(scope, findings);
  for (std::size_t r = 0; r < scope.ranks.size(); ++r)
    Inspector(scope, scope.ranks[r], static_cast<std::int32_t>(r), findings).run();
  // with servers, the samples of a round are not known in advance
  if (!has_servers(scope)) inspect_schedule(scope, findings);
}

}  // namespace trainyard::check
