// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/unit_ops.h"

#include <algorithm>

#include "core/strategy/local_parameters.h"

namespace trainyard::strategy {
namespace {

void move(const Bucket& unit, std::int64_t first, std::vector<std::int64_t>& moved) {
  for (int s = unit.first_segment; s <= unit.last_segment; ++s)
    moved[static_cast<std::size_t>(s)] = first - unit.first;
}

}  // namespace

UnitOps::UnitOps(const Replica& replica, const Shards* shards, const Line& line,
                 const std::vector<std::int64_t>& micro_batches,
                 const experiment::CallerSet& callers)
    : ShardOps(replica, shards), micro_batches_(micro_batches), line_(line) {
  for (std::int32_t micro = 0; micro < std::ssize(micro_batches); ++micro) {
    if (!callers.has(micro)) continue;
    taken_.push_back(micro);
    if (samples_of(micro) > 0) last_with_samples_ = micro;
  }
  if (!taken_.empty()) first_micro_ = taken_.front();
  if (shards == nullptr) return;
  parameter_offsets_.resize(model_.segments.size());
  moved_gradients_.resize(model_.segments.size());
  for (std::int32_t u = 0; u < units().count(); ++u) {
    move(units().at(u).bucket, units().parameters.first(u, UnitPass::forward), parameter_offsets_);
    move(units().at(u).bucket, units().gradients.first(u, UnitPass::backward), moved_gradients_);
  }
}

// Parameters
// ------------------------------------------------------------------------------------------

void UnitOps::begin_pass(UnitPass pass, int first_segment, int last_segment) {
  pass_ = pass;
  in_pass_.clear();
  ahead_ = begun_ = 0;
  if (shards_ == nullptr || !units().gathers) return;
  for (std::int32_t u = 0; u < units().count(); ++u)
    if (const int last = units().at(u).bucket.last_segment;
        first_segment <= last && last <= last_segment)
      in_pass_.push_back(u);
  if (pass == UnitPass::forward) std::reverse(in_pass_.begin(), in_pass_.end());
}

void UnitOps::gather_for(int s) {
  if (begun_ == in_pass_.size()) return;
  const Bucket& next = units().at(in_pass_[begun_]).bucket;
  if (s != (pass_ == UnitPass::forward ? next.first_segment : next.last_segment)) return;
  ++begun_;
  const std::size_t end =
      std::min(begun_ + static_cast<std::size_t>(units().prefetch), in_pass_.size());
  for (; ahead_ < end; ++ahead_) gather(in_pass_[ahead_]);
}

// Gathers the parameters of a unit. If the unit has a permanent slot, gathers it only once, in the
// first forward pass.
void UnitOps::gather(std::int32_t u) {
  if (units().parameters.stays(u) && (pass_ == UnitPass::backward || micro_ > first_micro_)) return;
  const Unit& unit = units().at(u);
  const std::int32_t number =
      unit_number(pass_ == UnitPass::forward ? UnitWay::forward : UnitWay::backward, u);
  move(unit.bucket, units().parameters.first(u, pass_), parameter_offsets_);
  const Access whole = parameters_of(u);
  if (unit.own.count > 0) {
    add(mix({shard_in(shards_->parameters, unit)}, {1}, 1, shard_in_full(whole, unit)));
    ops_.back().bucket = number;
  }
  collective(OpKind::all_gather, line_, number, whole);
}

void UnitOps::gather_updated() {
  for (std::int32_t u = units().count() - 1; u >= 0; --u)
    collective(OpKind::all_gather, line_, unit_number(UnitWay::forward, u), parameters_of(u));
}

// Gradients
// ------------------------------------------------------------------------------------------

// Frees the slot for the gradients of a unit. If the slot still holds an earlier sum, first adds
// the rank's shard of that sum to the rank's gradients.
void UnitOps::free_gradient_slot(int s) {
  const std::int32_t u = shards_ == nullptr ? -1 : units().of(s);
  if (u < 0 || s != units().at(u).bucket.last_segment || units().gradients.stays(u)) return;
  const auto is_there = [&](const Summed& other) {
    return units().gradients.first(other.unit, UnitPass::backward) ==
           units().gradients.first(u, UnitPass::backward);
  };
  while (std::any_of(summed_.begin(), summed_.end(), is_there)) keep_own_part();
}

void UnitOps::sum_gradient(int s) {
  const std::int32_t u = shards_ == nullptr ? -1 : units().of(s);
  if (u < 0 || s != units().at(u).bucket.first_segment) return;
  const bool stays = units().gradients.stays(u);
  if (stays && !is_last_micro_step()) return;
  collective(OpKind::reduce_scatter, line_, unit_number(UnitWay::gradients, u), gradients_of(u));
  if (units().scatters) summed_.push_back({u, !stays && micro_ > first_micro_});
}

void UnitOps::keep_shards() {
  while (!summed_.empty()) keep_own_part();
}

void UnitOps::keep_own_part() {
  const auto [u, adds] = summed_.front();
  summed_.pop_front();
  if (units().at(u).own.count == 0) return;
  const Access part = shard_in_full(gradients_of(u), units().at(u)),
               own = shard_in(shards_->gradients, units().at(u));
  add(adds ? mix({own, part}, {1, 1}, 1, own) : mix({part}, {1}, 1, own));
  ops_.back().bucket = unit_number(UnitWay::gradients, u);
}

void UnitOps::sum_shards(const Line& alike) {
  for (std::int32_t u = units().count() - 1; u >= 0; --u)
    if (units().at(u).own.count > 0)
      collective(OpKind::all_reduce, alike, unit_number(UnitWay::replicas, u),
                 shard_gradient(units().at(u)));
}

plan::Op UnitOps::zero_gradient(int s) const {
  Op op = op_of(OpKind::zero, s);
  if (!has_separate_gradient(s) || (micro_ > first_micro_ && accumulates_gradient(s))) return op;
  op.writes.push_back(segment_of(b_.gradients, s));
  if (leaves_norms() && micro_ == first_micro_)
    op.writes.push_back({b_.local_norms.buffer, model_.owner(s), 1});
  return op;
}

plan::Access UnitOps::moved(const Access& flat, std::int32_t u,
                            const std::vector<std::int64_t>& by) const {
  const Bucket& unit = units().at(u).bucket;
  return {flat.buffer, unit.first + by[static_cast<std::size_t>(unit.first_segment)], unit.count};
}

}  // namespace trainyard::strategy
