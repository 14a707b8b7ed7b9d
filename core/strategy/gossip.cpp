// SPDX-License-Identifier: GPL-3.0-or-later
// Gossip: every rank trains a replica with parameters of its own. While the rank computes its
// gradient, it sends its parameters to its neighbors bucket by bucket and receives theirs. It then
// averages them with weights from the mixing matrix, and applies its update to the result. No send
// waits for an op of the same step.
//
// In addition, ranks all-reduce their parameters to the mean of all ranks. They evaluate this mean,
// report their distance from it, and end the run with it.
//
// There are two groups, each of all ranks: one for neighbor exchange, and one for the mean.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/experiment/bipartition.h"
#include "core/experiment/mixing_matrix.h"
#include "core/strategy/lanes.h"
#include "core/strategy/local_parameters.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::Dependency;
using plan::LaneId;
using plan::Op;
using plan::OpKind;

constexpr std::int32_t kNeighbors = 0, kMean = 1;  // group numbers

struct Gossip {
  experiment::Resolved experiment;
  std::vector<Bucket> buckets;
  experiment::MixingMatrix mixing;
};

Op op_of_bucket(OpKind kind, LaneId lane, std::int32_t bucket) {
  Op op;
  op.kind = kind;
  op.lane = lane;
  op.bucket = bucket;
  return op;
}

class RankWriter {
 public:
  RankWriter(const Gossip& gossip, std::int32_t rank)
      : g_(gossip),
        rank_(rank),
        neighbors_(gossip.mixing.neighbors(rank)),
        plan_(replica(gossip.experiment, rank, gossip.buckets, -1)) {
    add_buffers();
    send_ = add_lane("send.g0", plan::LaneKind::send);
    receive_ = add_lane("recv.g0", plan::LaneKind::recv);
    mean_.emplace(plan_, g_.experiment, g_.buckets, kMean);
  }

  plan::RankPlan make() {
    for (plan::Program& program : plan_.programs)
      if (is_training(program)) mix_before_updates(program);
    for (plan::Program& program : plan_.programs)
      is_training(program) ? exchange(program) : mean_->evaluate_with(program, mean_->buffer());
    plan_.programs.push_back({"average", 0, 0, 1, mean_->average(mixed_), {}});
    plan_.programs.push_back({"end", 0, 0, 1, mean_->end(mean_->buffer()), {}});
    return std::move(plan_);
  }

 private:
  void add_buffers() {
    parameters_ = whole(plan_, "params");
    plan_.buffers[parameters_.buffer.index()].shared = true;  // peers read the parameters in place
    const base::DType dtype = plan_.buffers[parameters_.buffer.index()].dtype;
    mixed_ = add_buffer(plan_, "mixed", dtype, parameters_.count);
    for (const int neighbor : neighbors_)
      inboxes_[neighbor] =
          add_buffer(plan_, "inbox.r" + std::to_string(neighbor), dtype, parameters_.count);
  }

  LaneId add_lane(std::string name, plan::LaneKind kind) {
    plan_.lanes.push_back({std::move(name), kind, kNeighbors});
    return LaneId(plan_.lanes.size() - 1);
  }

  std::int32_t messages_until(std::int32_t bucket) const {
    return static_cast<std::int32_t>(neighbors_.size()) * (bucket + 1);
  }

  // Returns the op that averages a bucket with the weights in a row of the mixing matrix, with
  // ranks in ascending order.
  Op mix_of(std::int32_t bucket) const {
    Op op = mix({}, {}, g_.mixing.denominator, mean_->in_bucket(mixed_, bucket));
    for (int j = 0; j < g_.mixing.ranks; ++j) {
      if (j != rank_ && !inboxes_.contains(j)) continue;
      op.summands.push_back(j);
      op.reads.push_back(mean_->in_bucket(j == rank_ ? parameters_ : inboxes_.at(j), bucket));
      op.weights.numerators.push_back(g_.mixing.at(rank_, j));
    }
    op.bucket = bucket;
    op.flops = bucket_flops(op);
    op.after = {{receive_, messages_until(bucket), 0}};
    return op;
  }
  static std::int64_t bucket_flops(const Op& op) {
    return op.writes.front().count * (2 * std::ssize(op.reads) - 1);
  }

  // Adds an op that averages each bucket with the neighbors' parameters before the update of the
  // bucket. The update may then overwrite the rank's parameters, because the neighbors have
  // received them.
  void mix_before_updates(plan::Program& program) {
    std::vector<Op> ops;
    std::int32_t mixed = -1, computed = 0;
    for (Op& op : program.ops) {
      if (op.kind == OpKind::update) {
        const std::int32_t number = mean_->bucket_of(op.segment);
        if (std::exchange(mixed, number) != number) {
          ops.push_back(mix_of(number));
          mixed_until_[number] = std::max(mixed_until_[number], ++computed);
          op.after.push_back({send_, messages_until(number), 0});
        }
        const auto own =
            std::find(op.reads.begin(), op.reads.end(), mean_->in_segment(parameters_, op.segment));
        op.reads.insert(own + 1, mean_->in_segment(mixed_, op.segment));
        updated_until_[number] = std::max(updated_until_[number], computed + 1);
      }
      if (op.lane == kCompute) ++computed;
      ops.push_back(std::move(op));
    }
    program.ops = std::move(ops);
  }

  // Adds the exchange with neighbors. A bucket is sent as soon as it is updated. A bucket of a
  // neighbor is received as soon as the same bucket of the previous step has been averaged.
  void exchange(plan::Program& program) {
    std::vector<Op> ops;
    for (std::int32_t b = 0; b < mean_->bucket_count(); ++b) {
      program.wanted.push_back(
          {OpKind::mix, kNeighbors, b, -1, mean_->in_bucket(parameters_, b), 1});
      for (const int neighbor : neighbors_) {
        ops.push_back(transfer(OpKind::send, send_, b, neighbor, updated_until_.at(b)));
        ops.back().reads = {mean_->in_bucket(parameters_, b)};
      }
      for (const int neighbor : neighbors_) {
        ops.push_back(transfer(OpKind::recv, receive_, b, neighbor, mixed_until_.at(b)));
        ops.back().writes = {mean_->in_bucket(inboxes_.at(neighbor), b)};
      }
    }
    ops.insert(ops.end(), std::make_move_iterator(program.ops.begin()),
               std::make_move_iterator(program.ops.end()));
    program.ops = std::move(ops);
  }

  // Returns a send or receive that waits for the first `computed` compute ops of the previous step.
  Op transfer(OpKind kind, LaneId lane, std::int32_t number, int peer,
              std::int32_t computed) const {
    Op op = op_of_bucket(kind, lane, number);
    op.group = kNeighbors;
    op.round = op.chunk = 0;
    op.peer = peer;
    op.after = {{kCompute, computed, 1}};
    return op;
  }

  const Gossip& g_;
  std::int32_t rank_;
  std::vector<int> neighbors_;
  plan::RankPlan plan_;
  Access parameters_, mixed_;
  std::optional<MeanOfRanks> mean_;
  std::map<int, Access> inboxes_;  // buffer for the parameters of each neighbor
  LaneId send_, receive_;
  std::map<std::int32_t, std::int32_t> mixed_until_,
      // number of compute ops of a step up to the average of a bucket, and up to its update; by
      // bucket, maximum over all programs
      updated_until_;
};

}  // namespace

base::Result<plan::Plan> gossip(const experiment::Resolved& experiment) {
  if (experiment.world() < 2) return mirrored(experiment);  // a single rank has no neighbors
  if (experiment::is_asynchronous_gossip(experiment.document.strategy))
    return asynchronous_gossip(experiment);
  const experiment::MixingMatrix mixing = experiment::mixing(experiment.document);
  if (const auto problems = experiment::mixing_problems(mixing, "strategy.gossip");
      !problems.empty())
    return base::fail(problems.front());
  const plan::Group all = world_group(experiment);
  plan::Schedule steps = schedule(experiment);
  steps.average_every_steps = experiment.document.strategy.gossip.consensus_every_steps;
  return plan::Plan{experiment.world(),
                    {all, all},
                    steps,
                    [gossip = Gossip{experiment, buckets(experiment), mixing}](std::int32_t rank) {
                      return RankWriter(gossip, rank).make();
                    }};
}

}  // namespace trainyard::strategy
