// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/mixed.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/experiment/precision.h"
#include "core/plan/overlap.h"
#include "core/strategy/edit.h"
#include "core/strategy/lanes.h"

namespace trainyard::strategy {
namespace {

using plan::Access;
using plan::Dependency;
using plan::LaneId;
using plan::Op;
using plan::OpKind;

constexpr std::array<std::string_view, 5> kParameterBuffers = {"mean", "centre", "snapshot",
                                                               "stash", "params"};

// Adds the ops that cast parameters to 16 bits to the plan of one rank.
class Caster {
 public:
  Caster(plan::RankPlan& rank, const experiment::Resolved& e)
      : rank_(rank), model_(e.model), casts_before_(rank.programs.size()) {
    std::int64_t elements = 0;
    for (const plan::Program& program : rank.programs)
      for (const Op& op : program.ops)
        if (const Access* read = factors(op))
          elements = std::max(elements, rank.buffers[read->buffer.index()].elements);
    if (elements > 0)
      cast_parameters_ =
          add_buffer(rank, "halves", experiment::activation_dtype(e), elements).buffer;
  }

  void run() {
    if (!cast_parameters_.valid()) return;
    for (std::size_t p = 0; p < rank_.programs.size(); ++p)
      cast(rank_.programs[p], casts_before_[p]);
    for (std::size_t p = 0; p < rank_.programs.size(); ++p)
      shift_dependencies(rank_.programs[p], p);
  }

 private:
  // Returns the op's access to the parameters that it uses in matrix products; null if it uses
  // none.
  const Access* factors(const Op& op) const {
    const bool passes = op.kind == OpKind::partial || op.kind == OpKind::forward ||
                        op.kind == OpKind::recompute || op.kind == OpKind::backward_input;
    if (!passes || op.segment < 0) return nullptr;
    const model::LayerKind kind = model_.segments[static_cast<std::size_t>(op.segment)].kind;
    if (kind != model::LayerKind::linear && kind != model::LayerKind::conv2d) return nullptr;
    const auto is_parameters = [&](const Access& read) {
      return std::find(kParameterBuffers.begin(), kParameterBuffers.end(),
                       rank_.buffers[read.buffer.index()].name) != kParameterBuffers.end();
    };
    const auto at = std::find_if(op.reads.begin(), op.reads.end(), is_parameters);
    return at == op.reads.end() ? nullptr : &*at;
  }

  void cast(plan::Program& program, std::vector<std::int32_t>& casts_before) {
    std::vector<Op> ops;
    std::vector<Access> are_cast;  // parameters whose casts are still valid
    std::int32_t casts = 0;
    for (Op& op : program.ops) {
      if (const Access* read = factors(op)) {
        const Access source = *read;
        if (std::find(are_cast.begin(), are_cast.end(), source) == are_cast.end()) {
          std::erase_if(are_cast, [&](const Access& other) {
            return overlap(in_halves(other), in_halves(source));
          });
          are_cast.push_back(source);
          ops.push_back(cast_for(op, source));
          ++casts;
        }
        std::replace(op.reads.begin(), op.reads.end(), source, in_halves(source));
      }
      for (const Access& write : op.writes)
        std::erase_if(are_cast, [&](const Access& source) { return overlap(source, write); });
      if (op.lane == kCompute) casts_before.push_back(casts);
      ops.push_back(std::move(op));
    }
    program.ops = std::move(ops);
  }

  Access in_halves(const Access& parameters) const {
    return {cast_parameters_, parameters.first, parameters.count};
  }

  // Returns the CAST op that must precede `op` on its lane. It gets the dependencies of `op`,
  // except dependencies on samples.
  Op cast_for(const Op& op, const Access& source) const {
    Op cast;
    cast.kind = OpKind::cast;
    cast.lane = op.lane;
    cast.segment = model_.owner(op.segment);
    cast.reads = {source};
    cast.writes = {in_halves(source)};
    std::copy_if(op.after.begin(), op.after.end(), std::back_inserter(cast.after),
                 [&](const Dependency& dependency) {
                   return rank_.lanes[dependency.lane.index()].kind != plan::LaneKind::input;
                 });
    cast.flops = source.count;
    return cast;
  }

  // Adjusts dependencies on compute ops to the added casts. A dependency on the previous step may
  // refer to any program, so its sequence number is increased by the largest number of casts in any
  // program.
  void shift_dependencies(plan::Program& program, std::size_t number) const {
    for (Op& op : program.ops)
      for (Dependency& dependency : op.after) {
        if (dependency.lane != kCompute || dependency.sequence <= 0) continue;
        std::int32_t more = 0;
        for (std::size_t p = 0; p < casts_before_.size(); ++p)
          if (p == number || dependency.steps_back > 0)
            more = std::max(more, casts_until(p, dependency.sequence));
        dependency.sequence +=
            dependency.steps_back > 0 ? more : casts_until(number, dependency.sequence);
      }
  }

  std::int32_t casts_until(std::size_t program, std::int32_t sequence) const {
    const auto& before = casts_before_[program];
    return before.empty() ? 0
                          : before[std::min(static_cast<std::size_t>(sequence), before.size()) - 1];
  }

  plan::RankPlan& rank_;
  const model::Model& model_;
  plan::BufferId cast_parameters_;
  // number of CAST ops that were inserted before a compute op; indices: program, old index of the
  // compute op
  std::vector<std::vector<std::int32_t>> casts_before_;
};

// Loss scale
// ------------------------------------------------------------------------------------------

bool writes_loss_gradient(const plan::RankPlan& rank, const Op& op) {
  return op.kind == OpKind::loss &&
         std::any_of(op.writes.begin(), op.writes.end(), [&](const Access& write) {
           return rank.buffers[write.buffer.index()].name.starts_with("grad.");
         });
}

class Scaler {
 public:
  Scaler(plan::RankPlan& rank, const experiment::Resolved& e)
      : rank_(rank), storage_(e.storage_rank) {
    const bool scales =
        std::any_of(rank.programs.begin(), rank.programs.end(), [&](const plan::Program& program) {
          return std::any_of(program.ops.begin(), program.ops.end(), [&](const Op& op) {
            return writes_loss_gradient(rank, op) || op.kind == OpKind::clip;
          });
        });
    if (scales)
      scale_ = add_buffer(rank, "loss_scale", base::DType::fp64, 2, rank.rank == storage_);
  }

  void run() {
    if (!scale_.buffer.valid()) return;
    for (plan::Program& program : rank_.programs) {
      bool judges = false;
      for (Op& op : program.ops) {
        if (writes_loss_gradient(rank_, op)) op.reads.insert(op.reads.end() - 1, scale_);
        if (op.kind == OpKind::clip) op.reads.push_back(scale_), judges = true;
      }
      if (judges) program.ops.push_back(scale());
      if (storage_ >= 0 && plan::purpose(program.name) == plan::Purpose::training)
        broadcast_scale(program, judges);
    }
  }

 private:
  Op scale() const {
    Op op;
    op.kind = OpKind::scale;
    op.lane = kCompute;
    op.reads = {{rank_.buffer("factor"), 0, 1}, scale_};
    op.writes = {scale_};
    return op;
  }

  // For central_storage: the storage sets the loss scale and broadcasts it after the parameters.
  // Devices wait for the scale of the previous step before they compute the loss. `judges`: true if
  // this rank is the storage.
  void broadcast_scale(plan::Program& program, bool judges) const {
    const auto last = std::find_if(program.ops.rbegin(), program.ops.rend(),
                                   [](const Op& op) { return op.kind == OpKind::broadcast; });
    if (last == program.ops.rend()) return;
    Op broadcast_op =
        rooted(OpKind::broadcast, last->lane, last->group, last->bucket + 1, storage_, scale_);
    const auto on_lane = [](const plan::Program& of, LaneId lane) {
      return static_cast<std::int32_t>(std::count_if(
          of.ops.begin(), of.ops.end(), [&](const Op& op) { return op.lane == lane; }));
    };
    const Dependency of_last{last->lane, on_lane(program, last->lane) + 1, 1};
    if (judges) program.ops.back().after.push_back(of_last);
    for (Op& op : program.ops)
      if (writes_loss_gradient(rank_, op)) op.after.push_back(of_last);
    broadcast_op.after = {{kCompute, on_lane(program, kCompute), 0}};
    program.ops.push_back(std::move(broadcast_op));
  }

  plan::RankPlan& rank_;
  std::int32_t storage_;
  Access scale_;
};

}  // namespace

plan::RankPlan in_mixed_precision(plan::RankPlan rank, const experiment::Resolved& e) {
  if (e.document.training.precision == experiment::Precision::fp16) Scaler(rank, e).run();
  Caster(rank, e).run();
  return rank;
}

}  // namespace trainyard::strategy
