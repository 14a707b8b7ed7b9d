// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/units.h"

#include <algorithm>

namespace trainyard::strategy {
namespace {

using experiment::Shard;

// Gathered forward, first layers first, and back again.
Places parameters_of(const experiment::Resolved& e, const std::vector<Bucket>& units) {
  if (e.document.strategy.fsdp.shard != Shard::full) return Places::as_in_model(units, e.model.elements);
  std::vector<std::int32_t> back;
  for (std::size_t u = 0; u < units.size(); ++u)
    if (!experiment::stays_gathered(e, units[u])) back.push_back(static_cast<std::int32_t>(u));
  std::vector<std::int32_t> turns(back.rbegin(), back.rend());
  turns.insert(turns.end(), back.begin(), back.end());
  return {units, turns, std::min<std::int64_t>(e.document.strategy.fsdp.prefetch + 1, std::ssize(back))};
}

// Two places: one unit is summed while the next is computed. Of a table that another layer shares the gradient is there from that one's on.
Places gradients_of(const experiment::Resolved& e, const std::vector<Bucket>& units) {
  if (e.document.strategy.fsdp.shard == Shard::optimizer) return Places::as_in_model(units, e.model.elements);
  std::vector<std::int32_t> turns;
  for (std::size_t u = 0; u < units.size(); ++u)
    if (!experiment::has_shared_table(e.model, units[u])) turns.push_back(static_cast<std::int32_t>(u));
  return {units, turns, std::min<std::int64_t>(2, std::ssize(turns))};
}

}  // namespace

Places Places::as_in_model(const std::vector<Bucket>& units, std::int64_t elements) {
  Places places;
  for (const Bucket& unit : units) places.own_.push_back(unit.first);
  places.elements_ = elements;
  return places;
}

Places::Places(const std::vector<Bucket>& units, const std::vector<std::int32_t>& turns, std::int64_t shared) : own_(units.size(), -1) {
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (std::find(turns.begin(), turns.end(), static_cast<std::int32_t>(u)) != turns.end()) continue;
    own_[u] = elements_;
    elements_ += units[u].count;
  }
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(shared), 0);
  for (std::size_t t = 0; t < turns.size(); ++t)
    lengths[t % lengths.size()] = std::max(lengths[t % lengths.size()], units[static_cast<std::size_t>(turns[t])].count);
  for (const std::int64_t length : lengths) {
    shared_.push_back(elements_);
    elements_ += length;
  }
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
