// SPDX-License-Identifier: GPL-3.0-or-later
// Workers have a replica's step without its update: in its place their gradient goes to the servers, share by share, while the backward pass goes
// on. Before every round comes a turn: what to compute next, from the first server, and parameters of one version, from every server. A
// server has no steps; its programs say what it does when a gradient is there, when an update is whole, and when somebody may be answered.
//
// Of a table that samples look rows up in, a worker pulls and pushes but the rows that those of its round name. Which they are it knows once it has its turn:
// then it sends the list, and is given these rows of the same version as all else, which the server keeps for it meanwhile. It pushes them in the same order.
//
// Groups: one of each server with all workers, for what asks and answers; then one of each share's server with all workers.
#include <algorithm>
#include <map>
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
const LaneId kInput{0}, kCompute{1};

struct Serving {
  experiment::Resolved experiment;
  std::vector<Share> shares;
  plan::ArrivalRule rule;

  int workers() const { return experiment.workers(); }
  int servers() const { return experiment.servers; }
  std::int32_t rank_of(int server) const { return workers() + server; }
  std::int32_t group_of(std::size_t share) const { return servers() + static_cast<std::int32_t>(share); }

  const model::Segment& table_of(const Share& share) const { return experiment.model.segments[static_cast<std::size_t>(share.table)]; }
  std::int64_t row_of(const Share& share) const { return share.table < 0 ? 1 : table_of(share).table[1]; }
  // Rows that a round can name: no more than there are, nor than its samples have places to name some.
  std::int64_t most_named(const Share& share) const {
    const data::Shares of_step = experiment.shares();
    std::int64_t samples = 0;
    for (std::int64_t rank = 0; rank < of_step.ranks(); ++rank) samples = std::max(samples, of_step.samples(0, rank));
    return std::min(share.count / row_of(share), samples * table_of(share).slot_count);
  }
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
    wish_ = add_buffer("wish", base::DType::fp64, 1, true);
    turn_ = add_buffer("turn", base::DType::fp64, 4, false);
    add_lanes();
    add_lists();
  }

  plan::RankPlan make() {
    for (plan::Program& program : plan_.programs) {
      wait_for_parameters(program);
      if (!is_training(program)) continue;
      pack_named_rows(program);
      push_gradients(program);
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

  Access add_buffer(std::string name, base::DType dtype, std::int64_t elements, bool shared) {
    return strategy::add_buffer(plan_, std::move(name), dtype, elements, shared);
  }

  // Of each table's share what the round names of it, and these rows of its gradient.
  void add_lists() {
    lists_.resize(s_.shares.size()), packed_.resize(s_.shares.size());
    std::int64_t tables = 0;
    for (std::size_t i = 0; i < s_.shares.size(); ++i) {
      if (!is_table(i)) continue;
      const std::string number = std::to_string(i);
      const std::int64_t most = s_.most_named(s_.shares[i]);
      lists_[i] = add_buffer("rows.b" + number, base::DType::int32, plan::kListHead + most, true);
      packed_[i] = add_buffer("packed.b" + number, plan_.buffers[gradients_.index()].dtype, most * s_.row_of(s_.shares[i]), true);
      ++tables;
    }
    if (tables > 0) counts_ = add_buffer("packed_rows", base::DType::int32, std::ssize(s_.shares), false);
  }

  bool is_table(std::size_t share) const { return s_.shares[share].table >= 0; }
  Access count_of(std::size_t share) const { return {counts_.buffer, static_cast<std::int64_t>(share), 1}; }

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
    if (!is_table(share)) return op;
    op.reads = {lists_[share]};
    carries_named(op, share);
    return op;
  }

  void carries_named(Op& op, std::size_t share) const {
    op.named = true;
    op.row = s_.row_of(s_.shares[share]);
  }

  std::vector<Op> turn() const {
    std::vector<Op> ops{op_of(OpKind::turn, turns_, 0, -1, s_.rank_of(0))};
    ops.front().writes = {turn_};
    name_rows(ops);
    for (std::size_t i = 0; i < s_.shares.size(); ++i) {
      if (is_table(i)) {
        ops.push_back(want(i));
        ops.back().after = {named(i)};
      }
      ops.push_back(pull(i));
      if (is_table(i)) ops.back().after.push_back(named(i));
    }
    return ops;
  }

  // Of the batch that the turn names; once the round before has packed its gradient by the last list, which had long been sent.
  void name_rows(std::vector<Op>& ops) const {
    for (std::size_t i = 0; i < s_.shares.size(); ++i) {
      if (!is_table(i)) continue;
      Op op = op_of(OpKind::rows, kInput, -1, static_cast<std::int32_t>(i), -1);
      op.segment = s_.shares[i].table;
      op.reads = {turn_};
      op.writes = {lists_[i]};
      op.after = {{turns_, 1, 0}, {kCompute, Dependency::end, 1}, {pushes_[i], Dependency::end, 2}};
      ops.push_back(std::move(op));
    }
  }

  // Among the lists of a turn, this one is there.
  Dependency named(std::size_t share) const {
    const auto lists =
        std::count_if(s_.shares.begin(), s_.shares.begin() + static_cast<std::ptrdiff_t>(share) + 1, [](const Share& one) { return one.table >= 0; });
    return {kInput, static_cast<std::int32_t>(lists), 0};
  }

  Op want(std::size_t share) const {
    Op op = op_of(OpKind::push, pushes_[share], s_.group_of(share), static_cast<std::int32_t>(share), s_.rank_of(s_.shares[share].server));
    const Access& list = lists_[share];
    op.reads = {{list.buffer, plan::kListHead - plan::kListHeadSent, list.count - plan::kListHead + plan::kListHeadSent}};
    return op;
  }

  // The other servers do not know which turn is the last: what they answered before it may be of an earlier version.
  std::vector<Op> last() const {
    std::vector<Op> ops = asks(1);
    for (std::size_t i = 0; i < s_.shares.size(); ++i) {
      if (s_.shares[i].server == 0) continue;
      if (is_table(i)) {
        ops.push_back(want(i));  // all, as the turn before it did; once the server knows that no gradient follows
        ops.back().after = {{asks_[static_cast<std::size_t>(s_.shares[i].server)], 1, 0}};
      }
      ops.push_back(pull(i));
    }
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

  // By share: how many ops of the program have computed when the last of its gradients is there, of the last micro-step; or when it is packed.
  std::vector<std::int32_t> whole_after(const plan::Program& program) const {
    std::vector<std::int32_t> after(s_.shares.size());
    std::int32_t done = 0;
    for (const Op& op : program.ops) {
      if (op.lane != kCompute) continue;
      ++done;
      if (op.kind == OpKind::pack) after[static_cast<std::size_t>(op.bucket)] = done;
      for (const Access& write : op.writes)
        for (std::size_t i = 0; write.buffer == gradients_ && i < s_.shares.size(); ++i)
          if (overlap(s_.shares[i], write)) after[i] = done;
    }
    return after;
  }

  void pack_named_rows(plan::Program& program) const {
    const std::vector<std::int32_t> after = whole_after(program);
    std::vector<Op> ops;
    std::int32_t done = 0;
    for (Op& op : program.ops) {
      const bool computes = op.lane == kCompute;
      ops.push_back(std::move(op));
      if (!computes) continue;
      ++done;
      for (std::size_t i = 0; i < s_.shares.size(); ++i)
        if (is_table(i) && after[i] == done) ops.push_back(pack(i));
    }
    program.ops = std::move(ops);
  }

  Op pack(std::size_t share) const {
    Op op = op_of(OpKind::pack, kCompute, -1, static_cast<std::int32_t>(share), -1);
    op.reads = {{gradients_, s_.shares[share].first, s_.shares[share].count}, lists_[share]};
    op.writes = {packed_[share], count_of(share)};
    op.after = {{pushes_[share], Dependency::end, 2}};
    carries_named(op, share);
    return op;
  }

  // A share goes once its gradient is whole.
  void push_gradients(plan::Program& program) const {
    const std::vector<std::int32_t> after = whole_after(program);
    program.global_samples = scaled(program.global_samples);
    for (std::size_t i = s_.shares.size(); i-- > 0;) {
      const Share& share = s_.shares[i];
      Op op = op_of(OpKind::push, pushes_[i], s_.group_of(i), static_cast<std::int32_t>(i), s_.rank_of(share.server));
      op.reads = {{gradients_, share.first, share.count}};
      op.after = {{kCompute, after[i], 0}};
      if (is_table(i)) op.reads = {packed_[i], count_of(i)}, carries_named(op, i);
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
  Access wish_, turn_, counts_;
  std::vector<Access> lists_, packed_;         // by share, of tables
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
    if (!wanted_.empty()) add("named", named());
    return std::move(plan_);
  }

 private:
  Access add_buffer(std::string name, base::DType dtype, std::int64_t elements, bool shared = false) {
    return strategy::add_buffer(plan_, std::move(name), dtype, elements, shared);
  }

  // Of each table's share the lists of all workers, one after another, and likewise the rows that they are given.
  void add_lists(base::DType dtype) {
    for (const std::size_t i : own_) {
      const Share& share = s_.shares[i];
      if (share.table < 0) continue;
      const std::int64_t most = s_.most_named(share), workers = s_.workers();
      wanted_[i] = add_buffer("wanted.b" + std::to_string(i), base::DType::int32, (plan::kListHead + most) * workers);
      handed_[i] = add_buffer("handed.b" + std::to_string(i), dtype, most * s_.row_of(share) * workers, true);
    }
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
    add_lists(dtype);
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
      Op& op = ops.back();
      op.writes = {{gradients_.buffer, first, count}};
      if (compensates()) {
        op.reads = {given(first, count), {versions_[0].buffer, first, count}};
        op.writes.push_back({compensated_.buffer, first, count});
      }
      carries_named(op);
    });
    return ops;
  }

  // Where it is of a table: last of all that it reads, the list.
  void carries_named(Op& op) const {
    const auto list = wanted_.find(static_cast<std::size_t>(op.bucket));
    if (list == wanted_.end()) return;
    op.reads.push_back(list->second);
    op.named = true;
    op.row = s_.row_of(s_.shares[list->first]);
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
      if (!wanted_.contains(own_[p])) ops.push_back(give(p, number, first, count));
    });
    return ops;
  }

  Op give(std::size_t p, std::int32_t number, std::int64_t first, std::int64_t count) const {
    Op op = op_of(OpKind::give, gives_[p], s_.group_of(own_[p]), number, -1);
    op.reads = {{versions_[0].buffer, first, count}};
    if (compensates()) op.writes = {given(first, count)};
    carries_named(op);
    if (op.named) op.writes.push_back(handed_.at(own_[p]));
    return op;
  }

  // A worker that was answered says which rows it wants, and is given them.
  std::vector<Op> named() const {
    std::vector<Op> ops;
    for_each_share([&](std::size_t p, std::int32_t number, std::int64_t first, std::int64_t count) {
      if (!wanted_.contains(own_[p])) return;
      ops.push_back(op_of(OpKind::take, takes_[p], s_.group_of(own_[p]), number, -1));
      ops.back().writes = {wanted_.at(own_[p])};
      ops.push_back(give(p, number, first, count));
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
  std::map<std::size_t, Access> wanted_, handed_;  // by share, of tables
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
