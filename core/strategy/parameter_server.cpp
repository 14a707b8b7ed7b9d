// SPDX-License-Identifier: GPL-3.0-or-later
// Workers have a replica's step without its update: in its place their gradient goes to the servers, share by share, while the backward pass goes
// on. Before every round comes a turn: what to compute next, from the first server, and parameters of one version, from every server. A
// server has no steps; its three programs say what it does when a gradient is there, when an update is whole, and when somebody may be answered.
//
// Groups: one of each server with all workers, for what asks and answers; then one of each share's server with all workers.
#include <algorithm>
#include <numeric>

#include "core/experiment/buckets.h"
#include "core/experiment/servers.h"
#include "core/strategy/edit.h"
#include "core/strategy/replica.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {
namespace {

using experiment::Share;
using plan::Access;
using plan::Dependency;
using plan::LaneId;
using plan::Op;
using plan::OpKind;

constexpr int kVersions = 3;  // that a server keeps: one is read, one may still be crossing, one is written
const LaneId kCompute{1};

struct Serving {
  experiment::Resolved experiment;
  std::vector<Share> shares;
  plan::ArrivalRule rule;

  int workers() const { return experiment.workers(); }
  int servers() const { return experiment.servers; }
  std::int32_t rank_of(int server) const { return workers() + server; }
  std::int32_t group_of(std::size_t share) const { return servers() + static_cast<std::int32_t>(share); }
};

plan::ArrivalRule rule_of(const experiment::Resolved& e) {
  const experiment::ServerSpec& servers = e.document.strategy.servers;
  plan::ArrivalRule rule{.workers = e.workers(), .gradients_per_update = experiment::gradients_per_update(servers, e.workers())};
  rule.answers_after_update = experiment::in_step(servers);
  if (servers.mode == experiment::ServerMode::stale_synchronous) rule.clock_bound = servers.bound;
  return rule;
}

LaneId add_lane(plan::RankPlan& rank, plan::LaneKind kind, std::int32_t group) {
  rank.lanes.push_back({(kind == plan::LaneKind::send ? "send.g" : "recv.g") + std::to_string(group), kind, group});
  return LaneId(rank.lanes.size() - 1);
}

Op op_of(OpKind kind, LaneId lane, std::int32_t group, std::int32_t bucket, std::int32_t peer) {
  Op op;
  op.kind = kind;
  op.lane = lane;
  op.group = group;
  op.bucket = bucket;
  op.peer = peer;
  return op;
}

bool overlap(const Share& share, const Access& span) { return share.first < span.first + span.count && span.first < share.first + share.count; }

// A worker ----------------------------------------------------------------------------------------------------------------

class WorkerPlan {
 public:
  WorkerPlan(const Serving& serving, std::int32_t rank) : s_(serving), plan_(replica(serving.experiment, sampled_as(rank), one_bucket(), -1)) {
    plan_.rank = rank;
    for (plan::Program& program : plan_.programs) drop_ops(program, makes_updates);
    drop_unused_buffers(plan_);
    parameters_ = plan_.buffer("params");
    gradients_ = plan_.buffer("grads");
    plan_.buffers[gradients_.index()].shared = true;
    wish_ = add_buffer("wish", 1, true);
    turn_ = add_buffer("turn", 4, false);
    add_lanes();
  }

  plan::RankPlan make() {
    for (plan::Program& program : plan_.programs) {
      wait_for_parameters(program);
      if (is_training(program)) push_gradients(program);
    }
    order_loads(plan_);
    for (plan::Program& program : plan_.programs)
      if (is_training(program)) program.ops.front().after.front().steps_back = 2;  // between two rounds comes a turn
    add("start", asks(0));
    add("turn", turn());
    if (s_.servers() > 1) add("last", last());
    add("leave", asks(0));
    return std::move(plan_);
  }

 private:
  // Out of step whoever asks takes the next batch: every worker has the programs of the one that would take all of them.
  std::int32_t sampled_as(std::int32_t rank) const { return s_.rule.answers_after_update ? rank : 0; }
  std::vector<Bucket> one_bucket() const { return {{0, static_cast<int>(s_.experiment.model.segments.size()) - 1, 0, s_.experiment.model.elements}}; }
  static bool makes_updates(const Op& op) { return op.kind == OpKind::update; }

  Access add_buffer(const char* name, std::int64_t elements, bool shared) {
    plan_.buffers.push_back({name, base::DType::fp64, elements, shared});
    return {plan::BufferId(plan_.buffers.size() - 1), 0, elements};
  }

  void add_lanes() {
    for (int server = 0; server < s_.servers(); ++server) asks_.push_back(add_lane(plan_, plan::LaneKind::send, server));
    turns_ = add_lane(plan_, plan::LaneKind::recv, 0);
    for (std::size_t i = 0; i < s_.shares.size(); ++i) {
      pushes_.push_back(add_lane(plan_, plan::LaneKind::send, s_.group_of(i)));
      pulls_.push_back(add_lane(plan_, plan::LaneKind::recv, s_.group_of(i)));
    }
  }

  void add(std::string name, std::vector<Op> ops) { plan_.programs.push_back({std::move(name), 0, 0, 1, std::move(ops), {}}); }

  // Of all servers from `first` on.
  std::vector<Op> asks(int first) const {
    std::vector<Op> ops;
    for (int server = first; server < s_.servers(); ++server) {
      ops.push_back(op_of(OpKind::push, asks_[static_cast<std::size_t>(server)], server, -1, s_.rank_of(server)));
      ops.back().reads = {wish_};
    }
    return ops;
  }

  Op pull(std::size_t share) const {
    const Share& from = s_.shares[share];
    Op op = op_of(OpKind::pull, pulls_[share], s_.group_of(share), static_cast<std::int32_t>(share), s_.rank_of(from.server));
    op.writes = {{parameters_, from.first, from.count}};
    op.after = {{kCompute, Dependency::end, 1}};
    return op;
  }

  std::vector<Op> turn() const {
    std::vector<Op> ops{op_of(OpKind::turn, turns_, 0, -1, s_.rank_of(0))};
    ops.front().writes = {turn_};
    for (std::size_t i = 0; i < s_.shares.size(); ++i) ops.push_back(pull(i));
    return ops;
  }

  // The other servers do not know which turn is the last: what they answered before it may be of an earlier version.
  std::vector<Op> last() const {
    std::vector<Op> ops = asks(1);
    for (std::size_t i = 0; i < s_.shares.size(); ++i)
      if (s_.shares[i].server > 0) ops.push_back(pull(i));
    return ops;
  }

  void wait_for_parameters(plan::Program& program) const {
    for (Op& op : program.ops) {
      if (op.kind != OpKind::forward) continue;
      for (const Access& read : op.reads)
        for (std::size_t i = 0; read.buffer == parameters_ && i < s_.shares.size(); ++i)
          if (overlap(s_.shares[i], read)) op.after.push_back({pulls_[i], Dependency::end, 1});
    }
  }

  // A share goes once the last of the gradients in it is there: of the last micro-step.
  void push_gradients(plan::Program& program) const {
    std::vector<std::int32_t> after(s_.shares.size());
    std::int32_t done = 0;
    for (const Op& op : program.ops) {
      if (op.lane != kCompute) continue;
      ++done;
      for (const Access& write : op.writes)
        for (std::size_t i = 0; write.buffer == gradients_ && i < s_.shares.size(); ++i)
          if (overlap(s_.shares[i], write)) after[i] = done;
    }
    program.global_samples = scaled(program.global_samples);
    for (std::size_t i = s_.shares.size(); i-- > 0;) {
      const Share& share = s_.shares[i];
      Op op = op_of(OpKind::push, pushes_[i], s_.group_of(i), static_cast<std::int32_t>(i), s_.rank_of(share.server));
      op.reads = {{gradients_, share.first, share.count}};
      op.after = {{kCompute, after[i], 0}};
      program.ops.push_back(std::move(op));
    }
  }

  // Each sample counts 1 / all those of an update.
  std::int64_t scaled(std::int64_t samples) const {
    return s_.rule.answers_after_update ? std::max<std::int64_t>(1, samples * s_.rule.gradients_per_update / s_.rule.workers)
                                        : samples * s_.rule.gradients_per_update;
  }

  const Serving& s_;
  plan::RankPlan plan_;
  plan::BufferId parameters_, gradients_;
  Access wish_, turn_;
  std::vector<LaneId> asks_, pushes_, pulls_;  // by server; by share
  LaneId turns_;
};

// A server ----------------------------------------------------------------------------------------------------------------

int moments(const experiment::OptimizerSpec& optimizer) {
  if (optimizer.kind != experiment::OptimizerKind::sgd) return 2;
  return optimizer.momentum > 0 ? 1 : 0;
}

class ServerPlan {
 public:
  ServerPlan(const Serving& serving, int server) : s_(serving), server_(server) {
    for (std::size_t i = 0; i < s_.shares.size(); ++i)
      if (s_.shares[i].server == server) own_.push_back(i);
  }

  plan::RankPlan make() {
    plan_.rank = s_.rank_of(server_);
    plan_.rule = s_.rule;
    plan_.lanes.push_back({"compute", plan::LaneKind::compute, -1});
    add_buffers();
    asked_ = add_lane(plan_, plan::LaneKind::recv, server_);
    if (server_ == 0) turns_ = add_lane(plan_, plan::LaneKind::send, 0);
    for (const std::size_t i : own_) {
      takes_.push_back(add_lane(plan_, plan::LaneKind::recv, s_.group_of(i)));
      gives_.push_back(add_lane(plan_, plan::LaneKind::send, s_.group_of(i)));
    }
    add("arrival", arrival());
    add("update", update());
    add("answer", answer());
    return std::move(plan_);
  }

 private:
  Access add_buffer(std::string name, base::DType dtype, std::int64_t elements, bool shared = false) {
    plan_.buffers.push_back({std::move(name), dtype, elements, shared});
    return {plan::BufferId(plan_.buffers.size() - 1), 0, elements};
  }

  void add_buffers() {
    const base::DType dtype = experiment::gradient_dtype(s_.experiment);
    std::int64_t elements = 0;
    for (const std::size_t i : own_) elements += s_.shares[i].count;
    for (int version = 0; version < kVersions; ++version) versions_.push_back(add_buffer("params.v" + std::to_string(version), dtype, elements, true));
    gradients_ = add_buffer("grads", dtype, elements);
    for (int m = 1; m <= moments(s_.experiment.document.training.optimizer); ++m) moments_.push_back(add_buffer("moment" + std::to_string(m), dtype, elements));
    if (compensates()) {
      given_ = add_buffer("given", dtype, elements * s_.workers());
      compensated_ = add_buffer("compensated", dtype, elements);
    }
    statistics_ = add_buffer("statistics", base::DType::fp64, 3 * std::ssize(own_));
    rate_ = add_buffer("rate", base::DType::fp64, 2);
    if (server_ == 0) turn_ = add_buffer("turns", base::DType::fp64, 4 * static_cast<std::int64_t>(s_.workers()), true);
  }

  void add(std::string name, std::vector<Op> ops) { plan_.programs.push_back({std::move(name), 0, 0, 1, std::move(ops), {}}); }

  // `visit(place among the own shares, number, where it begins in the server's buffers, elements)`.
  template <class Visit>
  void for_each_share(Visit visit) const {
    std::int64_t first = 0;
    for (std::size_t p = 0; p < own_.size(); ++p) {
      const std::int64_t count = s_.shares[own_[p]].count;
      visit(p, static_cast<std::int32_t>(own_[p]), first, count);
      first += count;
    }
  }

  std::vector<Op> arrival() const {
    std::vector<Op> ops{op_of(OpKind::take, asked_, server_, -1, -1)};
    for_each_share([&](std::size_t p, std::int32_t number, std::int64_t first, std::int64_t count) {
      ops.push_back(op_of(OpKind::take, takes_[p], s_.group_of(own_[p]), number, -1));
      ops.back().writes = {{gradients_.buffer, first, count}};
      if (!compensates()) return;
      ops.back().reads = {given(first, count), {versions_[0].buffer, first, count}};
      ops.back().writes.push_back({compensated_.buffer, first, count});
    });
    return ops;
  }

  // Where workers wait for each other's update, nothing comes late.
  bool compensates() const { return s_.experiment.document.strategy.servers.delay_compensation > 0 && !s_.rule.answers_after_update; }
  // What a worker was given of the share: that of the first stands for all, which lie behind it.
  Access given(std::int64_t first, std::int64_t count) const { return {given_.buffer, first * s_.workers(), count}; }

  std::vector<Op> update() const {
    std::vector<Op> ops{op_of(OpKind::rate, LaneId(0), -1, -1, -1)};
    ops.front().writes = {rate_};
    for_each_share([&](std::size_t p, std::int32_t number, std::int64_t first, std::int64_t count) {
      Op op = op_of(OpKind::update, LaneId(0), -1, number, -1);
      op.reads = {{gradients_.buffer, first, count}, rate_, {versions_[0].buffer, first, count}};
      op.writes = {{versions_[1].buffer, first, count}, {statistics_.buffer, 3 * static_cast<std::int64_t>(p), 3}};
      for (const Access& moment : moments_) {
        op.reads.push_back({moment.buffer, first, count});
        op.writes.push_back({moment.buffer, first, count});
      }
      op.flops = count * (moments_.size() == 2 ? 16 : 6);
      ops.push_back(std::move(op));
    });
    return ops;
  }

  std::vector<Op> answer() const {
    std::vector<Op> ops;
    if (server_ == 0) {
      ops.push_back(op_of(OpKind::give, turns_, 0, -1, -1));
      ops.back().reads = {turn_};
    }
    for_each_share([&](std::size_t p, std::int32_t number, std::int64_t first, std::int64_t count) {
      ops.push_back(op_of(OpKind::give, gives_[p], s_.group_of(own_[p]), number, -1));
      ops.back().reads = {{versions_[0].buffer, first, count}};
      if (compensates()) ops.back().writes = {given(first, count)};
    });
    return ops;
  }

  const Serving& s_;
  int server_;
  std::vector<std::size_t> own_;  // numbers of its shares
  plan::RankPlan plan_;
  std::vector<Access> versions_, moments_;
  Access gradients_, statistics_, rate_, turn_, given_, compensated_;
  LaneId asked_, turns_;
  std::vector<LaneId> takes_, gives_;
};

std::vector<plan::Group> groups_of(const Serving& serving) {
  std::vector<plan::Group> groups;
  const auto add = [&](int server) {
    plan::Group group;
    group.ranks.resize(static_cast<std::size_t>(serving.workers()));
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
    group.ranks.push_back(serving.rank_of(server));
    groups.push_back(std::move(group));
  };
  for (int server = 0; server < serving.servers(); ++server) add(server);
  for (const Share& share : serving.shares) add(share.server);
  return groups;
}

constexpr std::size_t kMostGroups = 64;  // channels of a transport

std::optional<base::Problem> refusal(const experiment::Resolved& e, const Serving& serving) {
  if (e.servers < 1 || e.workers() < 1)
    return base::Problem{base::ProblemCode::bad_input, "strategy.kind", "parameter_server needs a worker and a server", "one of each, or more",
                         "Draw them, or use mirrored."};
  const std::size_t groups = serving.shares.size() + static_cast<std::size_t>(e.servers);
  if (groups <= kMostGroups) return std::nullopt;
  return base::Problem{base::ProblemCode::bad_input, "strategy.servers.placement",
                       "the servers would keep " + std::to_string(serving.shares.size()) + " pieces, each of which is sent by itself",
                       "at most " + std::to_string(kMostGroups - static_cast<std::size_t>(e.servers)), "Set it to balanced, or draw fewer servers."};
}

}  // namespace

base::Result<plan::Plan> parameter_server(const experiment::Resolved& experiment) {
  const Serving serving{experiment, experiment.servers > 0 ? experiment::shares_of_servers(experiment) : std::vector<Share>{},
                        experiment.servers > 0 ? rule_of(experiment) : plan::ArrivalRule{}};
  if (auto refused = refusal(experiment, serving)) return base::fail(*refused);
  return plan::Plan{experiment.world(), groups_of(serving), schedule(experiment), [serving](std::int32_t rank) {
                      if (serving.experiment.evaluates_alone(rank)) return evaluator(serving.experiment, rank);
                      return rank < serving.workers() ? WorkerPlan(serving, rank).make() : ServerPlan(serving, rank - serving.workers()).make();
                    }};
}

}  // namespace trainyard::strategy
