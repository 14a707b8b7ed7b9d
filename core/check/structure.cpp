// SPDX-License-Identifier: GPL-3.0-or-later
// Checks that every number in the plan is valid: the lane, op, buffer, group or rank that it refers
// to must exist. The other checks and the runtime (plan/frontier.h) rely on this.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/base/units.h"
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

constexpr std::int64_t kMaxElements = std::int64_t{1} << 53;
// Maximum number of program instances that a dependency may reach back. When an instance is
// admitted, lanes may still execute the previous instance, whose ops may depend on earlier ones.
constexpr std::int32_t kMaxStepsBack = plan::Frontier::window - 2;

LaneKind lane_of(OpKind kind) {
  if (kind == OpKind::load || kind == OpKind::rows) return LaneKind::input;
  if (kind == OpKind::offload || kind == OpKind::fetch) return LaneKind::copy;
  if (plan::coarse(kind)) return LaneKind::comm;
  if (kind == OpKind::send || kind == OpKind::push || kind == OpKind::give || kind == OpKind::offer)
    return LaneKind::send;
  return plan::communicates(kind) || plan::serves(kind) || plan::gossips_in_pairs(kind)
             ? LaneKind::recv
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
  return count == 0 ? "none, because the plan has none" : fmt::format("0 to {}", count - 1);
}

// Checks one rank of the plan.
class Inspector {
 public:
  Inspector(const Scope& scope, const RankPlan& rank, std::int32_t number, Findings& findings)
      : scope_(scope), rank_(rank), findings_(findings) {
    location_.rank = number;
    if (rank.rank != number)
      report(fmt::format("the plan of rank {} has the rank number {}", number, rank.rank),
             std::to_string(number));
  }

  void run() {
    names(rank_.lanes, "lane");
    names(rank_.buffers, "buffer");
    names(rank_.programs, "program");
    for (const plan::Lane& lane : rank_.lanes) inspect(lane);
    for (const plan::Buffer& buffer : rank_.buffers)
      if (buffer.elements < 0 || buffer.elements > kMaxElements)
        report(
            fmt::format("buffer {} has {}", buffer.name, base::counted(buffer.elements, "element")),
            "0 to 2^53");
    count_ops();
    for (const plan::Program& program : rank_.programs) inspect(program);
  }

 private:
  void report(const std::string& what, std::string accepted, std::string advice = "") {
    findings_.add(Proof::structure, location_, what, std::move(accepted), std::move(advice));
  }

  template <class NamedItems>
  void names(const NamedItems& items, const std::string& kind) {
    std::set<std::string_view> known;
    for (const auto& item : items) {
      if (!plan::is_name(item.name))
        report(fmt::format("\"{}\" is not a valid name of a {}", item.name, kind),
               "a word without spaces and brackets");
      if (!known.insert(item.name).second)
        report(fmt::format("the rank has two {}s with the name {}", kind, item.name),
               "distinct names");
    }
  }

  void inspect(const plan::Lane& lane) {
    const bool grouped =
        lane.kind == LaneKind::comm || lane.kind == LaneKind::send || lane.kind == LaneKind::recv;
    const std::string found = fmt::format("lane {} belongs to group {}", lane.name, lane.group);
    if (!grouped && lane.group >= 0)
      return report(found, "a lane without a group, because of its kind");
    if (!grouped) return;
    if (lane.group < 0 || static_cast<std::size_t>(lane.group) >= scope_.groups.size())
      return report(found, below(scope_.groups.size()));
    if (scope_.groups[static_cast<std::size_t>(lane.group)].position(location_.rank) < 0)
      report(fmt::format("{}, but the rank is not a member of that group", found),
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
    location_.program = program.name;
    if (program.samples < 0 || program.global_samples < program.samples)
      report(fmt::format("the program processes {} of {}", program.samples,
                         base::counted(program.global_samples, "sample")),
             "0 up to all samples");
    if (program.repeats < 1)
      report(fmt::format("the program repeats {}", base::counted(program.repeats, "time")),
             "1 or more");
    for (const plan::Wanted& wanted : program.wanted) inspect(wanted);
    total_ = ops_by_lane(program);
    seen_.assign(rank_.lanes.size(), 0);
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      location_.op = static_cast<int>(i);
      inspect(program.ops[i]);
    }
    location_.op = -1;
    location_.program.clear();
  }

  void inspect(const Op& op) {
    if (!op.lane.valid() || op.lane.index() >= rank_.lanes.size())
      return report(fmt::format("lane {} does not exist", op.lane.value),
                    below(rank_.lanes.size()));
    const plan::Lane& lane = rank_.lanes[op.lane.index()];
    if (lane.kind != lane_of(op.kind))
      report(fmt::format("the op is on lane {} of kind {}", lane.name, plan::word(lane.kind)),
             fmt::format("a lane of kind {}", plan::word(lane_of(op.kind))));
    for (const Access& access : op.reads) inspect(access);
    for (const Access& access : op.writes) inspect(access);
    for (const Dependency& dependency : op.after) inspect(op, dependency);
    const bool of_share = op.kind == OpKind::update && rank_.rule && op.bucket >= 0;
    if (has_segment(op.kind) && op.segment < 0 && !of_share)
      report("the op has no segment", "a segment");
    inspect(op.columns, op.kind);
    inspect_weights(op);
    if (plan::serves(op.kind)) inspect_served(op, lane);
    else if (plan::gossips_in_pairs(op.kind)) inspect_paired(op, lane);
    else plan::communicates(op.kind) ? inspect_transfer(op, lane) : inspect_local(op);
    ++seen_[op.lane.index()];
  }

  void inspect(const plan::Columns& columns, OpKind kind) {
    const bool may = kind == OpKind::load || kind == OpKind::softmax || has_segment(kind);
    if (columns.any() && !may)
      report("the op has columns", "no columns, because ops of this kind process full rows");
    if (kind == OpKind::partial && !columns.any())
      report("the op has no columns", "the columns of the rank");
    if (columns.first < 0 || columns.count < 0 || columns.of > kMaxElements ||
        columns.first > columns.of - columns.count)
      report(fmt::format("the op has columns {}:{} of {}", columns.first,
                         columns.first + columns.count, columns.of),
             "columns in range");
  }

  // Checks the weights of an op. A weighted sum has operands of equal length, and one weight for
  // each operand. If the op names ranks, it names one for each operand. A loss may have one weight:
  // the fraction of the update's samples that it processes.
  void inspect_weights(const Op& op) {
    const std::size_t weights = op.weights.numerators.size();
    if (op.kind == OpKind::loss) {
      if (weights > 1 || (weights == 1 && (op.weights.numerators[0] < 1 ||
                                           op.weights.numerators[0] > op.weights.denominator)))
        report("the weights of the loss are not a fraction of an update's samples",
               "one weight from 0 to 1, for example 4/8");
      return;
    }
    if (op.kind != OpKind::mix) {
      if (weights > 0 && op.kind != OpKind::answer)
        report("the op has weights",
               "no weights, because ops of this kind do not compute a weighted sum");
      return;
    }
    const bool alike = std::all_of(op.reads.begin(), op.reads.end(), [&](const Access& read) {
      return read.count == elements_of(op.writes);
    });
    if (op.reads.empty() || op.writes.size() != 1 || !alike)
      return report("the op mixes spans of different lengths, or no spans",
                    "input spans and one output span, all of equal length");
    if (op.weights.by_samples && op.reads.size() != 1)
      return report("the op weights several spans by samples", "one span");
    const std::string spans = base::counted(std::ssize(op.reads), "span");
    if (weights != op.reads.size() || op.weights.denominator < 1)
      report(fmt::format("the op has {} for {}",
                         base::counted(std::ssize(op.weights.numerators), "weight"), spans),
             "one weight per input span, and a positive denominator");
    if (!op.summands.empty() && op.summands.size() != op.reads.size())
      report(fmt::format("the op names {} for {}", base::counted(std::ssize(op.summands), "rank"),
                         spans),
             "one rank per span");
  }

  // Checks that the span is a multiple of the row, because chunks of members do not split rows.
  void inspect_rows(std::int64_t row, const Access& span) {
    if (row < 1 || span.count % row != 0)
      report(fmt::format("a span of {} cannot be divided into rows of {}",
                         base::counted(span.count, "element"), row),
             "a multiple of the row");
  }

  void inspect(const plan::Wanted& wanted) {
    inspect_rows(wanted.row, wanted.span);
    if (wanted.group < 0 || static_cast<std::size_t>(wanted.group) >= scope_.groups.size())
      return report(
          fmt::format("the collective of bucket {} uses group {}", wanted.bucket, wanted.group),
          below(scope_.groups.size()));
    const plan::Group& group = scope_.groups[static_cast<std::size_t>(wanted.group)];
    if (group.position(location_.rank) < 0 ||
        (has_root(wanted.kind) && group.position(wanted.root) < 0))
      report(fmt::format(
                 "the rank or the root of the collective of bucket {} is not a member of group {}",
                 wanted.bucket, wanted.group),
             fmt::format("members of group {}", wanted.group));
    inspect(wanted.span);
  }

  void inspect(const Access& access) {
    if (!access.buffer.valid() || access.buffer.index() >= rank_.buffers.size())
      return report(fmt::format("buffer {} does not exist", access.buffer.value),
                    below(rank_.buffers.size()));
    const plan::Buffer& buffer = rank_.buffers[access.buffer.index()];
    if (access.first < 0 || access.count < 0 || access.first > buffer.elements ||
        access.count > buffer.elements - access.first)
      report(fmt::format("the op accesses elements {}:{} of {}, outside the buffer", access.first,
                         access.first + access.count, buffer.name),
             fmt::format("elements 0:{}", buffer.elements));
  }

  void inspect(const Op& op, const Dependency& dependency) {
    if (!dependency.lane.valid() || dependency.lane.index() >= rank_.lanes.size())
      return report(
          fmt::format("the op waits for lane {}, which does not exist", dependency.lane.value),
          below(rank_.lanes.size()));
    const std::string& lane = rank_.lanes[dependency.lane.index()].name;
    if (dependency.steps_back < 0 || dependency.steps_back > kMaxStepsBack)
      return report(fmt::format("the op waits for an op of lane {} that is {} back", lane,
                                base::counted(dependency.steps_back, "instance")),
                    fmt::format("0 to {} instances back", kMaxStepsBack));
    const bool here = dependency.steps_back == 0;
    const std::int32_t reach =
        here ? total_[dependency.lane.index()] : most_[dependency.lane.index()];
    if (dependency.sequence < Dependency::end || dependency.sequence > reach)
      return report(fmt::format("the op waits for op {} of lane {}, which has {}",
                                dependency.sequence, lane, base::counted(reach, "op")),
                    fmt::format("0 to {}, or the end", reach));
    const bool too_far =
        dependency.sequence == Dependency::end || dependency.sequence > seen_[op.lane.index()];
    if (here && dependency.lane == op.lane && too_far)
      report("the op waits for itself, or for later ops of its lane", "earlier ops");
  }

  void inspect_transfer(const Op& op, const plan::Lane& lane) {
    if (op.group != lane.group) return report_group(op, lane);
    if (op.group < 0 || static_cast<std::size_t>(op.group) >= scope_.groups.size())
      return;  // the invalid group is reported with the lane
    const plan::Group& group = scope_.groups[static_cast<std::size_t>(op.group)];
    if (has_peer(op.kind) && (group.position(op.peer) < 0 || op.peer == location_.rank))
      report_peer(op, fmt::format("another member of group {}", op.group));
    if (has_root(op.kind) && group.position(op.peer) < 0)
      report(fmt::format("rank {} cannot be the root", op.peer),
             fmt::format("a member of group {}", op.group));
    if (!has_peer(op.kind) && !has_root(op.kind) && op.peer >= 0)
      report("the op has a peer", "no peer, because the op uses the full group");
    inspect_summands(op, group);
    if (!op.writes.empty() && op.row != 1) inspect_rows(op.row, op.writes.front());
    if (op.bucket < 0) report_bucket();
    inspect_spans(op);
  }

  void report_group(const Op& op, const plan::Lane& lane) {
    report(fmt::format("the op belongs to group {}", op.group),
           fmt::format("group {}, as its lane", lane.group));
  }
  void report_peer(const Op& op, const std::string& accepted) {
    report(fmt::format("rank {} cannot be the peer", op.peer), accepted);
  }
  void report_bucket() { report("the op has no bucket", "a bucket"); }
  void report_spans(const Op& op, std::size_t reads, std::size_t writes) {
    report(fmt::format("the op reads {} and writes {}", base::counted(std::ssize(op.reads), "span"),
                       base::counted(std::ssize(op.writes), "span")),
           fmt::format("{} and {}", reads, writes));
  }

  void inspect_served(const Op& op, const plan::Lane& lane) {
    if (op.group != lane.group || op.group < 0 ||
        static_cast<std::size_t>(op.group) >= scope_.groups.size())
      return report_group(op, lane);
    const plan::Group& group = scope_.groups[static_cast<std::size_t>(op.group)];
    const bool of_worker =
        op.kind == OpKind::turn || op.kind == OpKind::push || op.kind == OpKind::pull;
    if (of_worker == rank_.rule.has_value())
      report(fmt::format("the plan of a {} contains an op of a {}", of_worker ? "server" : "worker",
                         of_worker ? "worker" : "server"),
             of_worker ? "ops of a server" : "ops of a worker");
    if (of_worker && (group.position(op.peer) < 0 || op.peer == location_.rank))
      report_peer(op, "a server of the group");
    inspect_payload(op);
  }

  // Returns the maximum number of spans that an op may access: the payload and, if only listed rows
  // are sent, the list of rows. GIVE (a server sends parameters): also the copy that the server
  // keeps, and the packed rows. TAKE (a server receives a gradient): with delay compensation, also
  // the parameters that the worker used, and the current ones.
  static std::size_t max_spans(const Op& op) {
    const std::size_t list = op.named ? 1 : 0;
    return op.kind == OpKind::take ? 4 + list : op.kind == OpKind::give ? 2 + 2 * list : 1 + list;
  }

  void inspect_payload(const Op& op) {
    const std::size_t spans = op.reads.size() + op.writes.size(), most = max_spans(op);
    if (spans > most)
      report(fmt::format("the op accesses {}",
                         base::counted(static_cast<std::int64_t>(spans), "span")),
             fmt::format("at most {}", most));
    if (op.named && (op.reads.empty() || plan::carried(op) == nullptr))
      return report("the op transfers listed rows, but has no table or no list of rows",
                    "a table, and a list of rows");
    if (!op.named) return;
    inspect_rows(op.row, *plan::carried(op));
    inspect_list(op);
  }

  void inspect_list(const Op& op) {
    const Access& list = op.reads.back();
    const bool in_range = list.buffer.valid() && list.buffer.index() < rank_.buffers.size();
    if (in_range && rank_.buffers[list.buffer.index()].dtype != base::DType::int32)
      report(fmt::format("the list of rows is in buffer {} of {}",
                         rank_.buffers[list.buffer.index()].name,
                         base::name_of(rank_.buffers[list.buffer.index()].dtype)),
             "a buffer of int32");
  }

  void inspect_paired(const Op& op, const plan::Lane& lane) {
    if (op.group != lane.group || op.group < 0 ||
        static_cast<std::size_t>(op.group) >= scope_.groups.size())
      return report_group(op, lane);
    const bool answers = op.kind == OpKind::answer;
    if (rank_.pairs.empty() || rank_.answers() != answers)
      report(fmt::format("the op is in the plan of a rank that is not {}",
                         answers ? "passive" : "active"),
             answers ? "an op of an active rank" : "an op of a passive rank");
    if (answers && (scope_.groups[static_cast<std::size_t>(op.group)].position(op.peer) < 0 ||
                    op.peer == location_.rank))
      report_peer(op, fmt::format("another member of group {}", op.group));
    const std::size_t reads = op.kind == OpKind::agree ? 0 : 1, writes = op.kind == OpKind::offer
                                                                             ? 0
                                                                         : answers ? 2
                                                                                   : 1;
    if (op.reads.size() != reads || op.writes.size() != writes) report_spans(op, reads, writes);
    if (answers && (op.weights.numerators.size() != 2 || op.weights.denominator < 1))
      report(
          fmt::format("the op has {}", base::counted(std::ssize(op.weights.numerators), "weight")),
          "two weights, one per rank, and a positive denominator");
  }

  void inspect_summands(const Op& op, const plan::Group& group) {
    if (op.summands.empty()) return;
    const std::set<std::int32_t> distinct(op.summands.begin(), op.summands.end());
    const bool members = std::all_of(op.summands.begin(), op.summands.end(),
                                     [&](std::int32_t rank) { return group.position(rank) >= 0; });
    if (!members || distinct.size() != op.summands.size() || !distinct.contains(location_.rank))
      report(
          "the op sums ranks that repeat, are not members of its group, or do not include its rank",
          fmt::format("distinct members of group {}, including the rank itself", op.group));
  }

  void inspect_spans(const Op& op) {
    const std::size_t reads = op.kind == OpKind::recv ? 0 : 1,
                      writes = op.kind == OpKind::send ? 0 : 1;
    if (op.reads.size() != reads || op.writes.size() != writes)
      return report_spans(op, reads, writes);
    if (reads + writes < 2 || op.reads == op.writes) return;
    // kinds of ops that may move data between a bucket and scratch memory
    const bool may_move = op.kind == OpKind::copy || op.kind == OpKind::reduce_many;
    if (!may_move || op.reads.front().buffer == op.writes.front().buffer ||
        op.reads.front().count != op.writes.front().count)
      report("the op writes another span than the one that it reads",
             may_move ? "an output to the same span, or to a span of equal length in another buffer"
                      : "the same span");
  }

  void inspect_local(const Op& op) {
    if (op.group >= 0 || op.peer >= 0)
      report("the op has a group or a peer",
             "no group and no peer, because the op does not communicate");
    if (op.kind == OpKind::pack) return inspect_packed(op);
    if (op.row != 1 || op.named)
      report("the op states a row length, or transfers only listed rows",
             "no row length and no list, because ops of this kind process full spans");
    if (op.kind != OpKind::encode && op.kind != OpKind::decode) return;
    if (op.bucket < 0) report_bucket();
    if (op.reads.empty() || op.writes.empty())
      report("the op has no input or no output",
             "an input span to encode or decode, and an output span");
  }

  void inspect_packed(const Op& op) {
    if (op.bucket < 0) report_bucket();
    if (!op.named || op.reads.size() != 2 || op.writes.size() != 2)
      return report(
          "the op does not read a table and a list of its rows, and write the packed rows",
          "inputs: a table and a list of rows; outputs: the packed rows and their number");
    inspect_rows(op.row, op.reads.front());
    inspect_rows(op.row, op.writes.front());
    inspect_list(op);
  }

  const Scope& scope_;
  const RankPlan& rank_;
  Findings& findings_;
  FindingLocation location_;
  std::vector<std::int32_t> most_, total_,
      seen_;  // number of ops by lane: in the longest program, in this program, and before this op
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
          Proof::structure, FindingLocation{},
          fmt::format("group {} is empty, or has a rank that repeats or does not exist", g),
          fmt::format("distinct ranks, {}", below(scope.ranks.size())), "");
  }
}

// Checks that every rank has the programs of the schedule, and that the ranks' samples add up to
// those of the schedule.
void inspect_schedule(const Scope& scope, Findings& findings) {
  const plan::Schedule& schedule = scope.schedule;
  for (const std::string& name : schedule.training()) {
    std::int64_t samples = 0, global = -1;
    for (std::size_t r = 0; r < scope.ranks.size(); ++r) {
      const int number = scope.ranks[r].program(name);
      if (number < 0)
        return findings.add(
            Proof::structure, FindingLocation{static_cast<std::int32_t>(r), "", -1},
            fmt::format("the rank has no program {}, which the schedule uses", name), "", "");
      const plan::Program& program = scope.ranks[r].programs[static_cast<std::size_t>(number)];
      samples += program.samples;
      if (global < 0) global = program.global_samples;
      if (program.global_samples != global)
        findings.add(
            Proof::structure, FindingLocation{static_cast<std::int32_t>(r), program.name, -1},
            fmt::format(
                "on this rank the program states {} over all ranks, but on rank 0 it states {}",
                base::counted(program.global_samples, "sample"), global),
            "the same number on all ranks", "");
    }
    if (global >= 0 && samples != global)
      findings.add(Proof::structure, FindingLocation{},
                   fmt::format("the ranks together take {} in program {}, which states {}",
                               base::counted(samples, "sample"), name, base::format_count(global)),
                   base::counted(global, "sample"), "");
  }
}

}  // namespace

void prove_structure(const Scope& scope, Findings& findings) {
  inspect_groups(scope, findings);
  for (std::size_t r = 0; r < scope.ranks.size(); ++r)
    Inspector(scope, scope.ranks[r], static_cast<std::int32_t>(r), findings).run();
  // with servers, the samples of a round are known only during the run
  if (!has_servers(scope)) inspect_schedule(scope, findings);
}

}  // namespace trainyard::check
