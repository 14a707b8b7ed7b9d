// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/op_names.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/plan/text.h"

namespace trainyard::ui {
namespace {

using plan::OpKind;

// Returns the token of the collective to which a chunk op belongs, as in the plan before expansion.
std::string coarse_token(const plan::Program& program, const plan::Op& chunk) {
  plan::Op whole;
  whole.kind = OpKind::all_reduce;
  whole.bucket = chunk.bucket;
  for (const plan::Wanted& wanted : program.wanted)
    if (wanted.group == chunk.group && wanted.bucket == chunk.bucket)
      whole.kind = wanted.kind, whole.peer = wanted.root;
  return plan::token(whole);
}

// Assigns each chunk op (send or receive of a chunk) to its collective. If a program contains
// several collectives of one bucket, a new collective begins where an op of the bucket occurs
// again.
class BucketNaming {
 public:
  explicit BucketNaming(const std::map<std::int32_t, int>& lane_of_group)
      : lane_of_group_(lane_of_group) {}

  void add(const plan::Program& program, const plan::Op& op, std::size_t number,
           NamedProgram& made) {
    if (!plan::communicates(op.kind) || plan::coarse(op.kind)) return;
    const auto lane = lane_of_group_.find(op.group);
    if (lane == lane_of_group_.end()) return;
    const int time = times_[{op.group, op.bucket, op.round, op.chunk, op.peer, op.kind}]++;
    const auto [known, fresh] =
        buckets_.try_emplace({op.group, op.bucket, time}, static_cast<int>(made.buckets.size()));
    if (fresh)
      made.buckets.push_back(
          {coarse_token(program, op), lane->second, static_cast<std::uint16_t>(number), 0});
    ++made.buckets[static_cast<std::size_t>(known->second)].ops;
    made.ops.back().bucket = known->second;
  }

 private:
  using OpKey =
      std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, OpKind>;
  const std::map<std::int32_t, int>& lane_of_group_;
  std::map<OpKey, int> times_;  // number of occurrences of each op so far
  std::map<std::tuple<std::int32_t, std::int32_t, int>, int>
      buckets_;  // by (group, bucket, index of the collective)
};

NamedProgram named(const plan::RankPlan& rank, const plan::Program& program,
                   const std::map<std::int32_t, int>& lane_of_group) {
  NamedProgram made{program.name, {}, {}};
  made.ops.reserve(program.ops.size());
  BucketNaming naming(lane_of_group);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const plan::Op& op = program.ops[i];
    made.ops.push_back(
        {plan::token(op), kind_of(op.kind), op.lane.value + 1, -1, payload_of(rank, program, op)});
    naming.add(program, op, i, made);
  }
  return made;
}

// True if the lane is for pairwise averaging, which is not a collective.
bool is_pairwise(const plan::RankPlan& rank, const plan::Lane& lane) {
  const auto gossips_in_pairs = [&](const plan::Op& op) {
    return &rank.lanes[op.lane.index()] == &lane && plan::gossips_in_pairs(op.kind);
  };
  return std::ranges::any_of(rank.programs, [&](const plan::Program& program) {
    return std::ranges::any_of(program.ops, gossips_in_pairs);
  });
}

// Adds a lane of full collectives for each group whose collectives are split into chunks, after the
// lanes of the plan. Returns the index of the added lane by group.
std::map<std::int32_t, int> add_lanes_of_buckets(const plan::RankPlan& rank, RankNames& names) {
  std::map<std::int32_t, int> lane_of_group;
  names.first_bucket_lane = static_cast<int>(names.lanes.size());
  for (const plan::Lane& lane : rank.lanes)
    if ((lane.kind == plan::LaneKind::send || lane.kind == plan::LaneKind::recv) &&
        !is_pairwise(rank, lane) &&
        lane_of_group.try_emplace(lane.group, static_cast<int>(names.lanes.size())).second)
      names.lanes.push_back("buckets.g" + std::to_string(lane.group));
  for (std::size_t l = 0; l < rank.lanes.size(); ++l) {
    const auto of_group = lane_of_group.find(rank.lanes[l].group);
    const bool chunks =
        of_group != lane_of_group.end() && rank.lanes[l].kind != plan::LaneKind::comm;
    if (chunks && std::ranges::count(names.shown, of_group->second) == 0)
      names.shown.push_back(of_group->second);
    names.shown.push_back(static_cast<int>(l) + 1);
  }
  return lane_of_group;
}

std::string as_first_rank(const std::string& text) {
  const std::size_t line_end = text.find('\n');
  return "plan 1\nschedule steps 0 full 0\nrank 0" +
         (line_end == std::string::npos ? std::string() : text.substr(line_end));
}

}  // namespace

SpanKind kind_of(OpKind kind) {
  switch (kind) {
    case OpKind::load:
    case OpKind::rows: return SpanKind::input;
    case OpKind::statistics:
    case OpKind::partial:
    case OpKind::forward:
    case OpKind::recompute: return SpanKind::forward;
    case OpKind::softmax:
    case OpKind::loss: return SpanKind::loss;
    case OpKind::backward_input:
    case OpKind::backward_weight: return SpanKind::backward;
    case OpKind::update:
    case OpKind::stash:
    case OpKind::cast:
    case OpKind::scale:
    case OpKind::weigh:
    case OpKind::mix: return SpanKind::update;
    case OpKind::offload:
    case OpKind::fetch: return SpanKind::offload;
    case OpKind::offer:
    case OpKind::push:
    case OpKind::give:
    case OpKind::send: return SpanKind::send;
    case OpKind::agree:
    case OpKind::answer:
    case OpKind::turn:
    case OpKind::pull:
    case OpKind::take: return SpanKind::receive;
    default: break;
  }
  if (plan::coarse(kind)) return SpanKind::collective;
  return plan::communicates(kind) ? SpanKind::receive : SpanKind::other;
}

bool communicates(SpanKind kind) {
  return kind == SpanKind::send || kind == SpanKind::receive || kind == SpanKind::collective;
}
bool computes(SpanKind kind) {
  return kind != SpanKind::input && kind != SpanKind::offload && !communicates(kind);
}

const NamedOp* RankNames::find(int program, int op) const {
  if (program < 0 || static_cast<std::size_t>(program) >= programs.size()) return nullptr;
  const auto& ops = programs[static_cast<std::size_t>(program)].ops;
  return op >= 0 && static_cast<std::size_t>(op) < ops.size() ? &ops[static_cast<std::size_t>(op)]
                                                              : nullptr;
}

const NamedBucket* RankNames::bucket(int program, int op) const {
  const NamedOp* known = find(program, op);
  return known && known->bucket >= 0 ? &programs[static_cast<std::size_t>(program)]
                                            .buckets[static_cast<std::size_t>(known->bucket)]
                                     : nullptr;
}

std::string RankNames::token(int program, int op) const {
  const NamedOp* known = find(program, op);
  return known ? known->token : "op " + std::to_string(program) + "." + std::to_string(op);
}

base::Result<RankNames> names_from_plan(const std::string& text) {
  return plan::parse(as_first_rank(text)).map([](const plan::Plan& plan) {
    RankNames names;
    if (plan.ranks == 0) return names;
    const plan::RankPlan rank = plan.rank_plan(0);
    for (const plan::Lane& lane : rank.lanes) names.lanes.push_back(lane.name);
    if (!rank.pairs.empty()) names.gossip_pair = rank.pairs.front();
    const auto lane_of_group = add_lanes_of_buckets(rank, names);
    for (const plan::Program& program : rank.programs)
      names.programs.push_back(named(rank, program, lane_of_group));
    return names;
  });
}

}  // namespace trainyard::ui
