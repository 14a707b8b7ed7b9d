// SPDX-License-Identifier: GPL-3.0-or-later
// A parameter server (see parameter_server.cpp).
#include <algorithm>
#include <map>

#include "core/experiment/buckets.h"
#include "core/plan/buffer_names.h"
#include "core/strategy/replica.h"
#include "core/strategy/serving.h"

namespace trainyard::strategy {
namespace {

using experiment::Share;
using plan::Access;
using plan::LaneId;
using plan::Op;
using plan::OpKind;

// number of version slots of a server: one current, one still being sent, one being written
constexpr int kVersions = 3;

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
  Access add_buffer(std::string name, base::DType dtype, std::int64_t elements,
                    bool shared = false) {
    return strategy::add_buffer(plan_, std::move(name), dtype, elements, shared);
  }

  // Adds two buffers for each share of a table: the row lists of all workers, contiguous, and the
  // rows to send to the workers.
  void add_lists(base::DType dtype) {
    for (const std::size_t i : own_) {
      const Share& share = s_.shares[i];
      if (share.table < 0) continue;
      const std::int64_t most = s_.max_named(share), workers = s_.workers();
      wanted_[i] = add_buffer("wanted.b" + std::to_string(i), base::DType::int32,
                              (plan::kListHead + most) * workers);
      handed_[i] = add_buffer("handed.b" + std::to_string(i), dtype,
                              most * s_.row_of(share) * workers, true);
    }
  }

  void add_buffers() {
    const base::DType dtype = experiment::gradient_dtype(s_.experiment);
    std::int64_t elements = 0;
    for (const std::size_t i : own_) elements += s_.shares[i].count;
    for (int version = 0; version < kVersions; ++version)
      versions_.push_back(add_buffer(plan::version_name(version), dtype, elements, true));
    gradients_ = add_buffer("grads", dtype, elements);
    for (int m = 1; m <= moments(s_.experiment.document.training.optimizer); ++m)
      moments_.push_back(add_buffer("moment" + std::to_string(m), dtype, elements));
    if (compensates()) {
      given_ = add_buffer("given", dtype, elements * s_.workers());
      compensated_ = add_buffer("compensated", dtype, elements);
    }
    add_lists(dtype);
    statistics_ = add_buffer("statistics", base::DType::fp64, 3 * std::ssize(own_));
    rate_ = add_buffer("rate", base::DType::fp64, 2);
    if (server_ == 0)
      turn_ =
          add_buffer("turns", base::DType::fp64, 4 * static_cast<std::int64_t>(s_.workers()), true);
  }

  void add(std::string name, std::vector<Op> ops) {
    plan_.programs.push_back({std::move(name), 0, 0, 1, std::move(ops), {}});
  }

  // Calls `visit` for every share of this server, with its index among the server's shares, its
  // index among all shares, its offset in the server's buffers, and its number of elements.
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

  // Makes the op transfer only listed rows if its bucket is a share of a table. The list becomes
  // the last span that the op reads.
  void carries_named(Op& op) const {
    const auto list = wanted_.find(static_cast<std::size_t>(op.bucket));
    if (list == wanted_.end()) return;
    op.reads.push_back(list->second);
    op.named = true;
    op.row = s_.row_of(s_.shares[list->first]);
  }

  // True if the server compensates delays. Synchronous rules have no stale gradients to compensate.
  bool compensates() const {
    return s_.experiment.document.strategy.servers.delay_compensation > 0 &&
           !s_.rule.answers_after_update;
  }
  // Returns the position of the share in the copy of the parameters that was sent to the first
  // worker. The copies for the other workers follow in the buffer.
  Access given(std::int64_t first, std::int64_t count) const {
    return {given_.buffer, first * s_.workers(), count};
  }

  std::vector<Op> update() const {
    std::vector<Op> ops{op_of(OpKind::rate, LaneId(0), -1, -1, -1)};
    ops.front().writes = {rate_};
    for_each_share([&](std::size_t p, std::int32_t number, std::int64_t first, std::int64_t count) {
      Op op = op_of(OpKind::update, LaneId(0), -1, number, -1);
      op.reads = {{gradients_.buffer, first, count}, rate_, {versions_[0].buffer, first, count}};
      op.writes = {{versions_[1].buffer, first, count},
                   {statistics_.buffer, 3 * static_cast<std::int64_t>(p), 3}};
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

  // Returns the program "named": the server takes the row list of a worker that it has answered,
  // and sends the listed rows.
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
  std::vector<std::size_t> own_;  // indices of this server's shares
  plan::RankPlan plan_;
  std::vector<Access> versions_, moments_;
  Access gradients_, statistics_, rate_, turn_, given_, compensated_;
  LaneId asked_, turns_;
  std::vector<LaneId> takes_, gives_;
  // for each share of a table: the buffer for row lists (`wanted_`), and the buffer for rows to
  // send to workers (`handed_`)
  std::map<std::size_t, Access> wanted_, handed_;
};

}  // namespace

plan::RankPlan parameter_server_rank(const Serving& serving, int server) {
  return ServerPlan(serving, server).make();
}

}  // namespace trainyard::strategy
