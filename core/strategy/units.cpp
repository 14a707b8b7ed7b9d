// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/units.h"

#include <algorithm>

namespace trainyard::strategy {
namespace {

using experiment::Shard;

// Returns for each stage its units that share slots, in the order of the backward pass (last layers
// first).
template <class Stays>
std::vector<UnitSlots::Turns> turns_of(const experiment::Resolved& e,
                                       const std::vector<Bucket>& units, Stays stays) {
  std::vector<UnitSlots::Turns> list;
  for (std::vector<int> back : experiment::units_by_stage(e, units)) {
    std::erase_if(back, [&](int u) { return stays(e, units[static_cast<std::size_t>(u)]); });
    list.push_back({{}, {back.begin(), back.end()}});
  }
  return list;
}

std::int64_t max_stage_elements(const std::vector<UnitSlots::Turns>& stages) {
  std::ptrdiff_t most = 0;
  for (const UnitSlots::Turns& one : stages) most = std::max(most, std::ssize(one.backward));
  return most;
}

// Assigns slots for the parameters of units. Units are gathered in the order of layers in forward
// passes, and in reverse order in backward passes.
UnitSlots parameters_of(const experiment::Resolved& e, const std::vector<Bucket>& units) {
  if (e.document.strategy.fsdp.shard != Shard::full)
    return UnitSlots::as_in_model(units, e.model.elements);
  std::vector<UnitSlots::Turns> stages = turns_of(e, units, experiment::stays_gathered);
  for (UnitSlots::Turns& one : stages)
    one.forward.assign(one.backward.rbegin(), one.backward.rend());
  return {
      units, stages,
      std::min<std::int64_t>(e.document.strategy.fsdp.prefetch + 1, max_stage_elements(stages))};
}

// Assigns slots for the gradients of units. Units share two slots: one unit is reduced while the
// gradient of the next is computed.
UnitSlots gradients_of(const experiment::Resolved& e, const std::vector<Bucket>& units) {
  if (e.document.strategy.fsdp.shard == Shard::optimizer)
    return UnitSlots::as_in_model(units, e.model.elements);
  const std::vector<UnitSlots::Turns> stages = turns_of(e, units, experiment::accumulates_gradient);
  return {units, stages, std::min<std::int64_t>(2, max_stage_elements(stages))};
}

}  // namespace

UnitSlots UnitSlots::as_in_model(const std::vector<Bucket>& units, std::int64_t elements) {
  UnitSlots places;
  for (const Bucket& unit : units) places.forward_.push_back(unit.first);
  places.backward_ = places.forward_;
  places.stays_.assign(units.size(), true);
  places.elements_ = elements;
  return places;
}

UnitSlots::UnitSlots(const std::vector<Bucket>& units, const std::vector<Turns>& stages,
                     std::int64_t shared)
    : stays_(units.size(), true), forward_(units.size()), backward_(units.size()) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(shared), 0);
  const auto take = [&](const std::vector<std::int32_t>& turns, std::size_t from,
                        std::vector<std::int64_t>& places) {
    for (std::size_t t = 0; t < turns.size(); ++t) {
      const auto u = static_cast<std::size_t>(turns[t]);
      const std::size_t place = (from + t) % lengths.size();
      stays_[u] = false;
      places[u] = static_cast<std::int64_t>(place);
      lengths[place] = std::max(lengths[place], units[u].count);
    }
  };
  for (const Turns& one : stages)
    take(one.forward, 0, forward_), take(one.backward, one.forward.size(), backward_);
  for (std::size_t u = 0; u < units.size(); ++u)
    if (stays_[u]) forward_[u] = backward_[u] = elements_, elements_ += units[u].count;
  std::vector<std::int64_t> firsts;
  for (const std::int64_t length : lengths) firsts.push_back(elements_), elements_ += length;
  for (std::size_t u = 0; u < units.size(); ++u)
    for (auto* places : {&forward_, &backward_})
      if (!stays_[u]) (*places)[u] = firsts[static_cast<std::size_t>((*places)[u])];
}

Units::Units(const experiment::Resolved& e, std::int32_t rank)
    : gathers(e.document.strategy.fsdp.shard == Shard::full),
      scatters(e.document.strategy.fsdp.shard != Shard::optimizer),
      prefetch(static_cast<std::int32_t>(e.document.strategy.fsdp.prefetch)),
      parameters(parameters_of(e, buckets(e))),
      gradients(gradients_of(e, buckets(e))) {
  const std::vector<experiment::ElementRange> parts = experiment::shards_of_rank(e, rank);
  for (const Bucket& bucket : buckets(e)) {
    list.push_back({bucket, parts[list.size()], own});
    own += list.back().own.count;
  }
}

std::int32_t Units::of(int segment) const {
  const auto at = std::find_if(list.begin(), list.end(), [segment](const Unit& unit) {
    return unit.bucket.first_segment <= segment && segment <= unit.bucket.last_segment;
  });
  return at == list.end() ? -1 : static_cast<std::int32_t>(at - list.begin());
}

}  // namespace trainyard::strategy
