// SPDX-License-Identifier: GPL-3.0-or-later
// Asynchronous gossip: every rank trains a replica with parameters of its own, and averages them
// with one neighbor at a time. An active rank offers its parameters as soon as they are updated,
// and applies its update to the mean that it receives. A passive rank answers offers at any time,
// and each answer changes its parameters. So the passive rank copies its parameters at the start of
// a step, computes the gradient from the copy, and applies its update to the current parameters.
//
// local_parameters.h describes how the mean of all ranks' parameters is formed. There are two
// groups, each of all ranks: one for pairs of neighbors, and one for the mean.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/experiment/bipartition.h"
#include "core/strategy/lanes.h"
#include "core/strategy/local_parameters.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::Dependency;
using plan::GossipPair;
using plan::LaneId;
using plan::Op;
using plan::OpKind;

constexpr std::int32_t kPairs = 0, kMeanOfAll = 1;  // group numbers

struct GossipTraining {
  experiment::Resolved experiment;
  std::vector<Bucket> buckets;
  experiment::Graph graph;
  experiment::Bipartition bipartition;

  bool asks(std::int32_t rank) const { return bipartition.asks[static_cast<std::size_t>(rank)]; }
  const std::vector<int>& neighbors(std::int32_t rank) const {
    return graph[static_cast<std::size_t>(rank)];
  }

  std::vector<GossipPair> pairs_of(std::int32_t rank) const {
    const std::int64_t seed = experiment.document.training.seed;
    if (asks(rank)) return {{rank, neighbors(rank), seed}};
    std::vector<GossipPair> pairs;
    for (const int active : neighbors(rank)) pairs.push_back({active, neighbors(active), seed});
    return pairs;
  }
};

bool passes(OpKind kind) {
  return kind == OpKind::forward || kind == OpKind::recompute || kind == OpKind::backward_input ||
         kind == OpKind::backward_weight;
}

class GossipPairWriter {
 public:
  GossipPairWriter(const GossipTraining& pairs, std::int32_t rank)
      : p_(pairs), plan_(replica(pairs.experiment, rank, pairs.buckets, -1)) {
    plan_.pairs = p_.pairs_of(rank);
    parameters_ = whole(plan_, "params");
    add_buffers();
    mean_.emplace(plan_, p_.experiment, p_.buckets, kMeanOfAll);
  }

  plan::RankPlan make() {
    for (plan::Program& program : plan_.programs) {
      if (!is_training(program)) mean_->evaluate_with(program, mean_->buffer());
      else plan_.answers() ? compute_with_old_parameters(program) : ask(program);
    }
    plan_.programs.push_back({"average", 0, 0, 1, mean_->average(kept_), {}});
    plan_.programs.push_back({"end", 0, 0, 1, mean_->end(mean_->buffer()), {}});
    if (plan_.answers()) plan_.programs.push_back({"answer", 0, 0, 1, answers(), {}});
    return std::move(plan_);
  }

 private:
  void add_buffers() {
    const base::DType dtype = plan_.buffers[parameters_.buffer.index()].dtype;
    if (plan_.answers()) {
      kept_ = add_buffer(plan_, "snapshot", dtype, parameters_.count);
      for (const GossipPair& pair : plan_.pairs)
        replies_.push_back(add_buffer(plan_, "reply.r" + std::to_string(pair.active), dtype,
                                      parameters_.count, true));
      receive_ = add_lane("answer.g0", plan::LaneKind::recv);
      return;
    }
    // the partner of the step reads the parameters in place, so the buffer is shared
    plan_.buffers[parameters_.buffer.index()].shared = true;
    kept_ = add_buffer(plan_, "mixed", dtype, parameters_.count);
    send_ = add_lane("send.g0", plan::LaneKind::send);
    receive_ = add_lane("recv.g0", plan::LaneKind::recv);
  }

  LaneId add_lane(std::string name, plan::LaneKind kind) {
    plan_.lanes.push_back({std::move(name), kind, kPairs});
    return LaneId(plan_.lanes.size() - 1);
  }

  static Op gossip_op(OpKind kind, LaneId lane) {
    Op op;
    op.kind = kind;
    op.lane = lane;
    op.group = kPairs;
    return op;
  }

  // Adds the ops OFFER and AGREE, which send the offer to the partner and receive its answer. The
  // offer is sent when the previous step is complete. The first update waits for the answer. When
  // the answer arrives, the partner has read the offered parameters, so the update may overwrite
  // them.
  void ask(plan::Program& program) const {
    Op offer = gossip_op(OpKind::offer, send_), agree = gossip_op(OpKind::agree, receive_);
    offer.after = agree.after = {{kCompute, Dependency::end, 1}};
    offer.reads = {parameters_};
    agree.writes = {kept_};
    bool first = true;
    for (Op& op : program.ops) {
      if (op.kind != OpKind::update) continue;
      if (std::exchange(first, false))
        op.after.insert(op.after.end(), {{send_, 1, 0}, {receive_, 1, 0}});
      const auto own =
          std::find(op.reads.begin(), op.reads.end(), mean_->in_segment(parameters_, op.segment));
      op.reads.insert(own + 1, mean_->in_segment(kept_, op.segment));
    }
    program.ops.insert(program.ops.begin(), {offer, agree});
  }

  // Changes forward and backward passes to read the copy of the parameters. The copy op precedes
  // all other compute ops, so the sequence number of every dependency on a compute op increases by
  // one.
  void compute_with_old_parameters(plan::Program& program) const {
    for (Op& op : program.ops) {
      if (passes(op.kind))
        for (Access& read : op.reads)
          if (read.buffer == parameters_.buffer) read.buffer = kept_.buffer;
      for (Dependency& dependency : op.after)
        if (dependency.lane == kCompute && dependency.sequence > 0) ++dependency.sequence;
    }
    program.ops.insert(program.ops.begin(), mix({parameters_}, {1}, 1, kept_));
  }

  std::vector<Op> answers() const {
    std::vector<Op> ops;
    for (std::size_t i = 0; i < replies_.size(); ++i) {
      Op op = gossip_op(OpKind::answer, receive_);
      op.peer = plan_.pairs[i].active;
      op.weights = {{1, 1}, 2};
      op.reads = {parameters_};
      op.writes = {parameters_, replies_[i]};
      op.flops = 2 * parameters_.count;
      ops.push_back(std::move(op));
    }
    return ops;
  }

  const GossipTraining& p_;
  plan::RankPlan plan_;
  // `kept_`: buffer "mixed", which holds the received mean on an active rank, and the copy of the
  // parameters on a passive rank
  Access parameters_, kept_;
  std::vector<Access> replies_;
  std::optional<MeanOfRanks> mean_;
  LaneId send_, receive_;
};

}  // namespace

base::Result<plan::Plan> asynchronous_gossip(const experiment::Resolved& experiment) {
  const experiment::Graph graph = experiment::graph_of(experiment.document);
  if (auto problems =
          experiment::mixing_problems(experiment::metropolis(graph), "strategy.gossip.graph");
      !problems.empty())
    return base::fail(problems.front());
  if (auto problems = experiment::pair_problems(experiment.document, graph); !problems.empty())
    return base::fail(problems.front());
  const plan::Group all = world_group(experiment);
  plan::Schedule steps = schedule(experiment);
  steps.average_every_steps = experiment.document.strategy.gossip.consensus_every_steps;
  return plan::Plan{experiment.world(),
                    {all, all},
                    steps,
                    [pairs = GossipTraining{experiment, buckets(experiment), graph,
                                            experiment::bipartition_of(graph)}](std::int32_t rank) {
                      return GossipPairWriter(pairs, rank).make();
                    }};
}

}  // namespace trainyard::strategy
