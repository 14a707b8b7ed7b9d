// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/collective/steps.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/collective/chunk_spans.h"
#include "core/plan/text.h"

namespace trainyard::collective {
namespace {

using plan::Op;
using plan::OpKind;

OpKind coarse_kind(Collective collective) {
  switch (collective) {
    case Collective::all_reduce: return OpKind::all_reduce;
    case Collective::reduce_scatter: return OpKind::reduce_scatter;
    case Collective::all_gather: return OpKind::all_gather;
    case Collective::broadcast: return OpKind::broadcast;
    case Collective::reduce: return OpKind::reduce;
    case Collective::scatter: return OpKind::scatter;
    case Collective::gather: return OpKind::gather;
  }
  return OpKind::all_reduce;
}

// Returns a plan whose only op is this collective, not yet expanded into sends and receives.
plan::RankPlan coarse_plan_of(const Exercise& exercise, int position) {
  Op whole;
  whole.kind = coarse_kind(exercise.collective);
  whole.lane = plan::LaneId(0);
  whole.bucket = exercise.bucket;
  whole.group = 0;
  if (has_root(exercise.collective)) whole.peer = exercise.root;
  whole.row = exercise.row;
  whole.reads = whole.writes = {{plan::BufferId(0), 0, exercise.elements}};
  plan::Program program{"collective", 1, exercise.members(), 1, {whole}};
  return {position,
          {{"comm.g0", plan::LaneKind::comm, 0}},
          {{"bucket", exercise.dtype, exercise.elements, true}},
          {program}};
}

std::vector<plan::RankPlan> expanded_plans(const Exercise& exercise) {
  Method method(exercise.algorithm);
  method.segment_bytes = exercise.segment_bytes;
  method.hosts = exercise.hosts;
  std::vector<plan::Group> groups(1);
  for (int position = 0; position < exercise.members(); ++position)
    groups[0].ranks.push_back(position);
  std::vector<plan::RankPlan> plans;
  plans.reserve(static_cast<std::size_t>(exercise.members()));
  for (int position = 0; position < exercise.members(); ++position)
    plans.push_back(expand(coarse_plan_of(exercise, position), groups, method));
  return plans;
}

std::vector<std::int64_t> chunk_bytes_of(const Exercise& exercise) {
  std::vector<std::int64_t> list;
  for (const ChunkSpan& span : chunk_spans(exercise))
    list.push_back(span.count * base::size_of(exercise.dtype));
  return list;
}

// Returns the plan text of an op, with the displayed rank numbers in place of positions.
std::string named_token(Op op, const Exercise& exercise) {
  if (op.peer >= 0) op.peer = exercise.rank(op.peer);
  for (std::int32_t& summand : op.summands) summand = exercise.rank(summand);
  return plan::token(op);
}

// Orders the ops of all members into the steps that the stepper shows.
class StepPlayer {
 public:
  explicit StepPlayer(Steps& steps) : steps_(steps), plans_(expanded_plans(steps.exercise)) {
    for (const plan::RankPlan& plan : plans_) {
      steps_.program.emplace_back();
      for (const Op& op : ops(plan.rank)) {
        steps_.program.back().push_back({named_token(op, steps.exercise), op.round});
        steps_.rounds = std::max(steps_.rounds, op.round + 1);
      }
      steps_.total_sent.push_back(sent_bytes(plan, plan.programs.front()));
    }
    steps_.total_received.resize(plans_.size());
  }

  void run() {
    for (int round = 0; round < steps_.rounds; ++round)
      for (int position = 0; position < steps_.members(); ++position)
        for (std::size_t line = 0; line < ops(position).size(); ++line)
          if (ops(position)[line].round == round) add(position, line);
  }

 private:
  const std::vector<Op>& ops(int position) const {
    return plans_[static_cast<std::size_t>(position)].programs.front().ops;
  }

  // Adds a member's op as a step to show. A send adds nothing, because the matching receive shows
  // it.
  void add(int position, std::size_t line) {
    const Op& op = ops(position)[line];
    Move move{op.peer, position, op.chunk, op.chunks, op.round};
    switch (op.kind) {
      case OpKind::recv: move.effect = Effect::replaces; return push(move, line);
      case OpKind::recv_reduce: move.effect = Effect::adds; return push(move, line);
      case OpKind::reduce_many: return add_sum(move, op, line);
      case OpKind::copy:
        move.from = position;
        move.effect = Effect::copies_from_scratch;
        return push(move, line);
      default: return;
    }
  }

  // Adds one step per received summand. The local summand is added in the step of the summand
  // before or after it.
  void add_sum(Move move, const Op& op, std::size_t line) {
    std::vector<int> summands(op.summands.begin(), op.summands.end());
    for (int member = 0; op.summands.empty() && member < steps_.members(); ++member)
      summands.push_back(member);
    move.effect = Effect::sums;
    for (std::size_t i = 0; i < summands.size(); ++i) {
      move.taken.push_back(summands[i]);
      if (summands[i] == move.to) continue;
      move.from = summands[i];
      const bool own_is_last = i + 2 == summands.size() && summands.back() == move.to;
      if (own_is_last) move.taken.push_back(move.to);
      move.begins = move.taken.front() == summands.front();
      move.ends = (own_is_last || i + 1 == summands.size()) &&
                  op.reads.front().buffer == op.writes.front().buffer;
      push(move, line);
      move.taken.clear();
    }
  }

  void push(Move move, std::size_t line) {
    const int step = steps_.count() + 1;
    mark(move.to, line, step);
    if (move.from != move.to) {
      const std::size_t sending = send_line(move);
      mark(move.from, sending, step);
      for (const plan::Access& read : ops(move.from)[sending].reads)
        move.bytes += read.count * base::size_of(steps_.exercise.dtype);
      steps_.total_received[static_cast<std::size_t>(move.to)] += move.bytes;
    }
    steps_.moves.push_back(std::move(move));
  }

  // Returns the line of the send that matches a receive. It exists: core/check verifies that sends
  // and receives match.
  std::size_t send_line(const Move& move) const {
    const auto is_it = [&](const Op& op) {
      return op.kind == OpKind::send && op.round == move.round && op.peer == move.to &&
             op.chunk == move.chunk && op.chunks == move.chunks;
    };
    return static_cast<std::size_t>(std::ranges::find_if(ops(move.from), is_it) -
                                    ops(move.from).begin());
  }

  void mark(int position, std::size_t line, int step) {
    Line& marked = steps_.program[static_cast<std::size_t>(position)][line];
    if (marked.first_step == 0) marked.first_step = step;
    marked.last_step = step;
  }

  Steps& steps_;
  std::vector<plan::RankPlan> plans_;
};

base::Problem cannot_play(std::string where, std::string what, std::string accepted) {
  return {"steps_not_shown", base::ProblemCode::bad_input, std::move(where),
          std::move(what),   std::move(accepted),          ""};
}

}  // namespace

bool has_root(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce ||
         collective == Collective::scatter || collective == Collective::gather;
}

bool is_reduction(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}

std::vector<Algorithm> choices(Collective collective, const Formation& formation) {
  switch (collective) {
    case Collective::all_reduce: break;
    case Collective::reduce_scatter:
    case Collective::all_gather: return {Algorithm::ring, Algorithm::direct};
    case Collective::broadcast:
    case Collective::reduce: return {Algorithm::binary_tree, Algorithm::star};
    case Collective::scatter:
    case Collective::gather: return {Algorithm::direct};
  }
  std::vector<Algorithm> list;
  for (const auto& [algorithm, name] : base::Names<Algorithm>::table)
    if (fits(algorithm, formation)) list.push_back(algorithm);
  return list;
}

base::Result<Steps> steps(const Exercise& exercise) {
  if (exercise.members() < 1 || exercise.members() > kMaxPlayedMembers)
    return base::fail(cannot_play(
        "ranks",
        fmt::format("{} cannot be shown step by step", base::counted(exercise.members(), "rank")),
        fmt::format("1 to {}", kMaxPlayedMembers)));
  if (!fits(exercise.algorithm, formation(exercise.hosts)))
    return base::fail(cannot_play(
        "algorithm",
        fmt::format("{} does not support these ranks", base::name_of(exercise.algorithm)),
        "another algorithm; sharded_hierarchical only if all hosts have the same number of ranks"));
  if (exercise.root < 0 || exercise.root >= exercise.members())
    return base::fail(cannot_play("root", fmt::format("there is no rank {}", exercise.root),
                                  fmt::format("0 to {}", exercise.members() - 1)));
  Steps result;
  result.exercise = exercise;
  result.chunk_bytes = chunk_bytes_of(exercise);
  if (result.chunk_bytes.empty())
    return base::fail(cannot_play("segment_bytes",
                                  "the bucket has too many chunks to be shown step by step",
                                  fmt::format("at most {} chunks", kMaxPlayedChunks)));
  StepPlayer(result).run();
  return result;
}

Formula total_formula(const Exercise& exercise) {
  const std::int64_t n = exercise.members(), whole = exercise.bytes();
  const std::int64_t own =
      part(exercise.elements / exercise.row, exercise.members(), exercise.root).second *
      exercise.row * base::size_of(exercise.dtype);
  switch (exercise.collective) {
    case Collective::all_reduce:
      if (exercise.algorithm == Algorithm::all_to_all) return {"n (n - 1) S", n * (n - 1) * whole};
      return {"2 (n - 1) S", 2 * (n - 1) * whole};
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::broadcast:
    case Collective::reduce: return {"(n - 1) S", (n - 1) * whole};
    case Collective::scatter:
    case Collective::gather: return {"S - c", whole - own};
  }
  return {};
}

}  // namespace trainyard::collective
