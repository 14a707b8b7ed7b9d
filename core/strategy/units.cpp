// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/units.h"

#include <algorithm>

namespace trainyard::strategy {
namespace {

using experiment::Shard;

// Of a table that another layer shares the gradient is there from that one's on.
bool has_shared_table(const model::Model& model, const Bucket& unit) {
  return std::any_of(model.segments.begin(), model.segments.end(),
                     [&](const model::Segment& segment) { return segment.tied_to >= unit.first_segment && segment.tied_to <= unit.last_segment; });
}

template <class Stays>
std::vector<bool> by_unit(const std::vector<Bucket>& units, Stays stays) {
  std::vector<bool> list;
  for (const Bucket& unit : units) list.push_back(stays(unit));
  return list;
}

Places parameters_of(const experiment::Resolved& e, const std::vector<Bucket>& units) {
  if (e.document.strategy.fsdp.shard != Shard::full) return Places::as_in_model(units, e.model.elements);
  return {units, by_unit(units, [&](const Bucket& unit) { return experiment::stays_gathered(e, unit); }), e.document.strategy.fsdp.prefetch + 1};
}

// Two places: one unit is summed while the next is computed.
Places gradients_of(const experiment::Resolved& e, const std::vector<Bucket>& units) {
  if (e.document.strategy.fsdp.shard == Shard::optimizer) return Places::as_in_model(units, e.model.elements);
  return {units, by_unit(units, [&](const Bucket& unit) { return has_shared_table(e.model, unit); }), 2};
}

}  // namespace

Places Places::as_in_model(const std::vector<Bucket>& units, std::int64_t elements) {
  Places places;
  for (const Bucket& unit : units) places.own_.push_back(unit.first);
  places.elements_ = elements;
  return places;
}

Places::Places(const std::vector<Bucket>& units, const std::vector<bool>& stays, std::int64_t shared) {
  for (std::size_t u = 0; u < units.size(); ++u) {
    own_.push_back(stays[u] ? shared_first_ : -1);
    if (stays[u]) shared_first_ += units[u].count;
    else length_ = std::max(length_, units[u].count);
  }
  const auto others = std::count(stays.begin(), stays.end(), false);
  shared_ = static_cast<std::int32_t>(std::clamp<std::int64_t>(shared, 1, std::max<std::int64_t>(others, 1)));
  elements_ = shared_first_ + shared_ * length_;
}

Units::Units(const experiment::Resolved& e, std::int32_t rank)
    : gathers(e.document.strategy.fsdp.shard == Shard::full),
      scatters(e.document.strategy.fsdp.shard != Shard::optimizer),
      prefetch(static_cast<std::int32_t>(e.document.strategy.fsdp.prefetch)),
      parameters(parameters_of(e, buckets(e))),
      gradients(gradients_of(e, buckets(e))) {
  const std::vector<experiment::Part> parts = experiment::parts_of(e, rank);
  for (const Bucket& bucket : buckets(e)) {
    list.push_back({bucket, parts[list.size()], own});
    own += list.back().own.count;
  }
}

}  // namespace trainyard::strategy
