// SPDX-License-Identifier: GPL-3.0-or-later
// A worker of parameter servers (see parameter_server.cpp).
#include <algorithm>

#include "core/strategy/lanes.h"
#include "core/strategy/replica.h"
#include "core/strategy/serving.h"

namespace trainyard::strategy {
namespace {

using experiment::Share;
using plan::Access;
using plan::Dependency;
using plan::LaneId;
using plan::Op;
using plan::OpKind;

bool overlap(const Share& share, const Access& span) {
  return share.first < span.first + span.count && span.first < share.first + share.count;
}

class WorkerPlan {
 public:
  WorkerPlan(const Serving& serving, std::int32_t rank)
      : s_(serving), plan_(replica(serving.experiment, sampling_rank(rank), one_bucket(), -1)) {
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
    for (const plan::Program& program : plan_.programs)
      if (is_training(program)) most_samples_ = std::max(most_samples_, program.global_samples);
    for (plan::Program& program : plan_.programs) {
      wait_for_parameters(program);
      if (!is_training(program)) continue;
      pack_named_rows(program);
      push_gradients(program);
    }
    order_loads(plan_);
    for (plan::Program& program : plan_.programs)
      if (is_training(program))
        // refers to the previous round, which is 2 programs back, because program "turn" runs
        // between two rounds
        program.ops.front().after.front().steps_back = 2;
    add("start", asks(0));
    add("turn", turn());
    if (s_.servers() > 1) add("last", last());
    add("leave", asks(0));
    return std::move(plan_);
  }

 private:
  // Returns the rank whose batches the programs are made for: the rank itself if all workers
  // compute the same step, otherwise 0, because any worker may get any batch of the epoch.
  std::int32_t sampling_rank(std::int32_t rank) const {
    return s_.rule.answers_after_update ? rank : 0;
  }
  std::vector<Bucket> one_bucket() const {
    return {{0, static_cast<int>(s_.experiment.model.segments.size()) - 1, 0,
             s_.experiment.model.elements}};
  }
  static bool makes_updates(const Op& op) { return op.kind == OpKind::update; }

  Access add_buffer(std::string name, base::DType dtype, std::int64_t elements, bool shared) {
    return strategy::add_buffer(plan_, std::move(name), dtype, elements, shared);
  }

  // Adds two buffers for each share of a table: the list of the rows that the round uses, and these
  // rows of the gradient.
  void add_lists() {
    lists_.resize(s_.shares.size()), packed_.resize(s_.shares.size());
    std::int64_t tables = 0;
    for (std::size_t i = 0; i < s_.shares.size(); ++i) {
      if (!is_table(i)) continue;
      const std::string number = std::to_string(i);
      const std::int64_t most = s_.max_named(s_.shares[i]);
      lists_[i] = add_buffer("rows.b" + number, base::DType::int32, plan::kListHead + most, true);
      packed_[i] = add_buffer("packed.b" + number, plan_.buffers[gradients_.index()].dtype,
                              most * s_.row_of(s_.shares[i]), true);
      ++tables;
    }
    if (tables > 0)
      counts_ = add_buffer("packed_rows", base::DType::int32, std::ssize(s_.shares), false);
  }

  bool is_table(std::size_t share) const { return s_.shares[share].table >= 0; }
  Access count_of(std::size_t share) const {
    return {counts_.buffer, static_cast<std::int64_t>(share), 1};
  }

  void add_lanes() {
    for (int server = 0; server < s_.servers(); ++server)
      asks_.push_back(add_lane(plan_, plan::LaneKind::send, server));
    turns_ = add_lane(plan_, plan::LaneKind::recv, 0);
    for (std::size_t i = 0; i < s_.shares.size(); ++i) {
      pushes_.push_back(add_lane(plan_, plan::LaneKind::send, s_.group_of(i)));
      pulls_.push_back(add_lane(plan_, plan::LaneKind::recv, s_.group_of(i)));
    }
  }

  void add(std::string name, std::vector<Op> ops) {
    plan_.programs.push_back({std::move(name), 0, 0, 1, std::move(ops), {}});
  }

  // Returns one op that requests parameters for each server, starting at server number `first`.
  std::vector<Op> asks(int first) const {
    std::vector<Op> ops;
    for (int server = first; server < s_.servers(); ++server) {
      ops.push_back(op_of(OpKind::push, asks_[static_cast<std::size_t>(server)], server, -1,
                          s_.rank_of(server)));
      ops.back().reads = {wish_};
    }
    return ops;
  }

  Op pull(std::size_t share) const {
    const Share& from = s_.shares[share];
    Op op = op_of(OpKind::pull, pulls_[share], s_.group_of(share), static_cast<std::int32_t>(share),
                  s_.rank_of(from.server));
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
        ops.push_back(push_list_op(i));
        ops.back().after = {named(i)};
      }
      ops.push_back(pull(i));
      if (is_table(i)) ops.back().after.push_back(named(i));
    }
    return ops;
  }

  // Adds the op that lists the table rows of the assigned batch. The op waits until the previous
  // round has packed its gradient, because packing reads the previous list.
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

  // Returns the dependency on the op that lists the rows of this share of a table. Program "turn"
  // has one such op for each share of a table, in order.
  Dependency named(std::size_t share) const {
    const auto lists =
        std::count_if(s_.shares.begin(), s_.shares.begin() + static_cast<std::ptrdiff_t>(share) + 1,
                      [](const Share& one) { return one.table >= 0; });
    return {kInput, static_cast<std::int32_t>(lists), 0};
  }

  Op push_list_op(std::size_t share) const {
    Op op = op_of(OpKind::push, pushes_[share], s_.group_of(share),
                  static_cast<std::int32_t>(share), s_.rank_of(s_.shares[share].server));
    const Access& list = lists_[share];
    op.reads = {{list.buffer, plan::kListHead - plan::kListHeadSent,
                 list.count - plan::kListHead + plan::kListHeadSent}};
    return op;
  }

  // Returns the program "last", which pulls the final parameters. Only the first server knows when
  // no work is left. In the last instance of program "turn", the answers of the other servers may
  // therefore contain an earlier version, so this program pulls again.
  std::vector<Op> last() const {
    std::vector<Op> ops = asks(1);
    for (std::size_t i = 0; i < s_.shares.size(); ++i) {
      if (s_.shares[i].server == 0) continue;
      if (is_table(i)) {
        // The list requests all rows. It is sent after the request, because the request tells the
        // server that no gradient follows.
        ops.push_back(push_list_op(i));
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

  // Returns for each share the number of compute ops after which its gradient is complete in the
  // last micro-step; for a share of a table, complete and packed.
  std::vector<std::int32_t> full_dependencies(const plan::Program& program) const {
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
    const std::vector<std::int32_t> after = full_dependencies(program);
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

  // Adds the pushes. A share is pushed when its gradient is complete.
  void push_gradients(plan::Program& program) const {
    const std::vector<std::int32_t> after = full_dependencies(program);
    program.global_samples = scaled(program.global_samples);
    for (std::size_t i = s_.shares.size(); i-- > 0;) {
      const Share& share = s_.shares[i];
      Op op = op_of(OpKind::push, pushes_[i], s_.group_of(i), static_cast<std::int32_t>(i),
                    s_.rank_of(share.server));
      op.reads = {{gradients_, share.first, share.count}};
      op.after = {{kCompute, after[i], 0}};
      if (is_table(i)) op.reads = {packed_[i], count_of(i)}, carries_named(op, i);
      program.ops.push_back(std::move(op));
    }
  }

  // Returns the number of samples by which the workers of an update divide their gradients.
  // `samples`: number of samples in a step. Under softsync, an update may combine gradients of
  // steps with different numbers of samples. A single server weights these gradients
  // (core/run/servers/update_average.h), so all workers divide by the same number. With several
  // servers, only the first knows the step of a gradient, so workers divide by their own number.
  std::int64_t scaled(std::int64_t samples) const {
    if (s_.rule.answers_after_update)
      return std::max<std::int64_t>(1, samples * s_.rule.gradients_per_update / s_.rule.workers);
    const bool is_weighted = s_.rule.gradients_per_update > 1 && s_.servers() == 1;
    return (is_weighted ? most_samples_ : samples) * s_.rule.gradients_per_update;
  }

  const Serving& s_;
  plan::RankPlan plan_;
  std::int64_t most_samples_ = 0;  // maximum number of samples in a step
  plan::BufferId parameters_, gradients_;
  Access wish_, turn_, counts_;
  // for each share of a table: the buffer for row lists (`lists_`), and the buffer for packed rows
  // (`packed_`)
  std::vector<Access> lists_, packed_;
  std::vector<LaneId> asks_, pushes_, pulls_;  // `asks_` by server; `pushes_` and `pulls_` by share
  LaneId turns_;
};

}  // namespace

plan::RankPlan server_worker(const Serving& serving, std::int32_t rank) {
  return WorkerPlan(serving, rank).make();
}

}  // namespace trainyard::strategy
