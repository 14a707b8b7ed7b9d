// SPDX-License-Identifier: GPL-3.0-or-later
// Random graphs of ops that make sense as a plan. Call inside a property.
#pragma once

#include <numeric>

#include "tests/core/check/happens_before.h"
#include "tests/core/plan/any_plan.h"

namespace trainyard::check {

inline bool any_bool() { return *rc::gen::arbitrary<bool>(); }

template <class T>
std::vector<T> any_order(std::vector<T> list) {
  for (std::size_t i = list.size(); i > 1; --i)
    std::swap(list[i - 1],
              list[static_cast<std::size_t>(plan::any_count(static_cast<int>(i) - 1))]);
  return list;
}

// Common parts of the ranks of a random graph.
struct AnyGraph {
  struct Bucket {
    std::int32_t group = 0, number = 0;
    std::int64_t elements = 0;
  };
  std::vector<plan::Group>
      groups;  // may share members; positions in any order; at least two members each
  std::vector<Bucket> buckets;  // in the order in which all use them
  std::vector<std::int64_t> samples;
  base::DType dtype = base::DType::fp32;
  plan::Schedule schedule{9, 3, {}, 0};

  explicit AnyGraph(int ranks)
      : samples(static_cast<std::size_t>(ranks)),
        dtype(*rc::gen::element(base::DType::fp32, base::DType::fp64)) {
    for (std::int64_t& of_rank : samples) of_rank = plan::any_count(5);
    for (int n = 1 + plan::any_count(2); n > 0; --n) groups.push_back({any_members(ranks)});
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (std::int32_t number = 0, last = plan::any_count(2); number <= last; ++number)
        buckets.push_back({static_cast<std::int32_t>(g), number, 1 + plan::any_count(11)});
    buckets = any_order(std::move(buckets));
  }
  std::int64_t all_samples() const {
    return std::accumulate(samples.begin(), samples.end(), std::int64_t{0});
  }

 private:
  static std::vector<std::int32_t> any_members(int ranks) {
    std::vector<std::int32_t> members(static_cast<std::size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
    members = any_order(std::move(members));
    members.resize(2 + static_cast<std::size_t>(plan::any_count(ranks - 2)));
    return members;
  }
};

// One rank of it: an input lane, a few compute lanes, buckets anywhere in the gradients, ops that
// read and write at random; those that reach one element wait for each other, and some for more
// than they need. Nothing but a bucket's own producers writes it, and its updates come after its
// sum, as else it would have no meaning.
class AnyGraphRank {
 public:
  AnyGraphRank(const AnyGraph& graph, std::int32_t rank)
      : graph_(graph), plan_{rank, {{"input", plan::LaneKind::input, -1}}, {}, {}} {
    for (int n = 0, last = plan::any_count(2); n <= last; ++n)
      plan_.lanes.push_back({"compute" + std::to_string(n), plan::LaneKind::compute, -1});
    computes_ = static_cast<int>(plan_.lanes.size()) - 1;
    for (std::size_t g = 0; g < graph.groups.size(); ++g)
      if (graph.groups[g].position(rank) >= 0)
        plan_.lanes.push_back(
            {"comm.g" + std::to_string(g), plan::LaneKind::comm, static_cast<std::int32_t>(g)});
    add_buffers();
  }

  plan::RankPlan make(bool evaluates) {
    write_step();
    wait_where_accesses_meet();
    for (std::size_t i = 0; i < ops_.size(); ++i)
      if (plan::any_count(3) == 0) wait_for_anything(i);
    const std::int64_t mine = graph_.samples[static_cast<std::size_t>(plan_.rank)],
                       all = graph_.all_samples();
    if (evaluates) add_evaluation(mine, all);
    plan_.programs.push_back({"train", mine, all, 1, ops_});
    for (std::size_t t = 0; t < graph_.schedule.tails.size(); ++t)
      plan_.programs.push_back({plan::Schedule::tail_name(t), mine, all, 1, ops_});
    return plan_;
  }

 private:
  using Op = plan::Op;
  using OpKind = plan::OpKind;
  using Access = plan::Access;
  using Dependency = plan::Dependency;

  void add_buffers() {
    std::int64_t end = 0;
    for (const AnyGraph::Bucket& bucket : any_order(graph_.buckets)) {
      end += plan::any_count(2);
      if (!member(bucket)) continue;
      spans_[{bucket.group, bucket.number}] = {plan::BufferId(0), end, bucket.elements};
      end += bucket.elements;
    }
    plan_.buffers.push_back({"grads", graph_.dtype, end + 1, true});
    for (int n = 0, last = plan::any_count(2); n <= last; ++n)
      plan_.buffers.push_back(
          {"own" + std::to_string(n), base::DType::fp64, 1 + plan::any_count(11), false});
  }
  bool member(const AnyGraph::Bucket& bucket) const {
    return graph_.groups[static_cast<std::size_t>(bucket.group)].position(plan_.rank) >= 0;
  }

  plan::LaneId any_compute() const { return plan::LaneId(1 + plan::any_count(computes_ - 1)); }
  plan::LaneId comm(std::int32_t group) const {
    const auto at = std::find_if(plan_.lanes.begin(), plan_.lanes.end(),
                                 [&](const plan::Lane& lane) { return lane.group == group; });
    return plan::LaneId(static_cast<std::size_t>(at - plan_.lanes.begin()));
  }
  // Random access to a buffer that is not reduced.
  Access any_own() const {
    const auto buffer =
        static_cast<std::size_t>(1 + plan::any_count(static_cast<int>(plan_.buffers.size()) - 2));
    const auto elements = static_cast<int>(plan_.buffers[buffer].elements);
    const int first = plan::any_count(elements - 1);
    return {plan::BufferId(buffer), first, 1 + plan::any_count(elements - first - 1)};
  }
  static std::vector<Access> any_pieces(const Access& span) {
    if (span.count < 2 || any_bool()) return {span};
    const std::int64_t cut = 1 + plan::any_count(static_cast<int>(span.count) - 2);
    return {{span.buffer, span.first, cut}, {span.buffer, span.first + cut, span.count - cut}};
  }

  Op& add(OpKind kind, plan::LaneId lane, std::int32_t segment = -1) {
    Op& op = ops_.emplace_back();
    op.kind = kind;
    op.lane = lane;
    op.segment = segment;
    return op;
  }

  void write_step() {
    for (int n = plan::any_count(1); n >= 0; --n)
      add(OpKind::load, plan::LaneId(0)).writes = {any_own()};
    std::vector<Access> summed;
    for (const AnyGraph::Bucket& bucket : graph_.buckets) {
      add_work();
      if (!member(bucket)) continue;
      const Access span = spans_.at({bucket.group, bucket.number});
      produce(span);
      add_work();
      reduce(bucket, span);
      summed.push_back(span);
      for (; !summed.empty() && any_bool(); summed.pop_back()) consume(summed.back());
    }
    for (const Access& span : summed) consume(span);
    add_work();
  }
  void add_work() {
    for (int n = plan::any_count(1); n > 0; --n) {
      const auto kind = *rc::gen::element(OpKind::rate, OpKind::forward, OpKind::loss,
                                          OpKind::backward_input, OpKind::clip);
      const bool of_segment = kind == OpKind::forward || kind == OpKind::backward_input;
      Op& op = add(kind, any_compute(), of_segment ? plan::any_count(3) : -1);
      for (int reads = plan::any_count(2); reads > 0; --reads)
        op.reads.push_back(plan::any_access(plan_));
      if (any_bool()) op.writes = {any_own()};
    }
  }
  void produce(const Access& span) {
    for (const Access& piece : any_pieces(span)) {
      Op& op = add(any_bool() ? OpKind::backward_weight : OpKind::zero, any_compute(),
                   plan::any_count(3));
      op.writes = {piece};
      if (any_bool()) op.reads = {any_own()};
      if (any_bool()) op.writes.push_back(any_own());
    }
  }
  void reduce(const AnyGraph::Bucket& bucket, const Access& span) {
    Op& op = add(OpKind::all_reduce, comm(bucket.group));
    op.bucket = bucket.number;
    op.group = bucket.group;
    op.reads = op.writes = {span};
  }
  void consume(const Access& span) {
    if (any_bool()) add(OpKind::norm, any_compute(), plan::any_count(3)).reads = {span};
    for (const Access& piece : any_pieces(span)) {
      Op& op = add(OpKind::update, any_compute(), plan::any_count(3));
      op.reads = {piece, any_own()};
      op.writes = {any_own()};
    }
  }

  // Returns the number of ops of a lane among the first `end` ops.
  std::int32_t sequence(plan::LaneId lane, std::size_t end) const {
    return static_cast<std::int32_t>(std::count_if(ops_.begin(),
                                                   ops_.begin() + static_cast<std::ptrdiff_t>(end),
                                                   [&](const Op& op) { return op.lane == lane; }));
  }
  static void wait(Op& op, const Dependency& added) {
    for (Dependency& known : op.after)
      if (known.lane == added.lane && known.steps_back == added.steps_back) {
        const bool to_end = known.sequence == Dependency::end || added.sequence == Dependency::end;
        known.sequence = to_end ? Dependency::end : std::max(known.sequence, added.sequence);
        return;
      }
    op.after.push_back(added);
  }
  // For what comes before it in the step, and for what comes after it in the step before.
  void wait_where_accesses_meet() {
    for (std::size_t i = 0; i < ops_.size(); ++i)
      for (std::size_t j = 0; j < ops_.size(); ++j)
        if (ops_[i].lane != ops_[j].lane && conflict(ops_[i], ops_[j]))
          wait(ops_[i], {ops_[j].lane, sequence(ops_[j].lane, j + 1), j < i ? 0 : 1});
  }
  void wait_for_anything(std::size_t i) {
    const plan::LaneId lane(
        static_cast<std::size_t>(plan::any_count(static_cast<int>(plan_.lanes.size()) - 1)));
    const int steps_back = plan::any_count(3);
    if (steps_back > 0)
      return wait(
          ops_[i],
          {lane, any_bool() ? Dependency::end : plan::any_count(sequence(lane, ops_.size())),
           steps_back});
    if (lane != ops_[i].lane) wait(ops_[i], {lane, plan::any_count(sequence(lane, i)), 0});
  }

  // After all of the step before it; steps that touch what it touches come after all of it.
  void add_evaluation(std::int64_t samples, std::int64_t all) {
    plan::Program program{"evaluate", samples, all, 1 + plan::any_count(2), {}};
    for (const OpKind kind : {OpKind::load, OpKind::forward}) {
      Op op;
      op.kind = kind;
      op.lane = kind == OpKind::load ? plan::LaneId(0) : any_compute();
      op.segment = kind == OpKind::load ? -1 : 0;
      op.writes = {any_own()};
      if (kind == OpKind::forward) op.reads = {any_own()};
      if (kind == OpKind::forward) op.after = {{plan::LaneId(0), 1, 0}};
      for (std::size_t lane = 0; lane < plan_.lanes.size(); ++lane)
        op.after.push_back({plan::LaneId(lane), Dependency::end, 1});
      program.ops.push_back(op);
    }
    for (Op& op : ops_)
      for (const Op& other : program.ops)
        if (op.lane != other.lane && conflict(op, other))
          wait(op, {other.lane, Dependency::end, 1});
    plan_.programs.push_back(std::move(program));
  }

  const AnyGraph& graph_;
  plan::RankPlan plan_;
  int computes_ = 0;
  std::map<std::pair<std::int32_t, std::int32_t>, Access> spans_;  // by group and bucket
  std::vector<Op> ops_;                                            // of a step
};

enum class Programs { train, all };
using Tails = std::vector<std::int64_t>;

// `train`: no tail, no evaluation.
inline plan::Plan any_graph(int ranks, Programs programs) {
  AnyGraph graph(ranks);
  const bool evaluates = programs == Programs::all && any_bool();
  if (programs == Programs::all)
    graph.schedule.tails = *rc::gen::element(Tails{}, Tails{1}, Tails{2, 1});
  if (evaluates) graph.schedule.evaluate_every_steps = 3;
  std::vector<plan::RankPlan> list;
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    list.push_back(AnyGraphRank(graph, rank).make(evaluates && any_bool()));
  return plan::from_ranks(graph.groups, graph.schedule, list);
}

}  // namespace trainyard::check
