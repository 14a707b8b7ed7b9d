// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/hops.h"

#include <algorithm>

#include "core/experiment/stages.h"

namespace trainyard::strategy {

Split::Split(const experiment::Resolved& e)
    : StageGraph(experiment::stage_graph_of(e)), owners(e.model.segments.size(), 0) {
  for (const model::Stage& stage : stages)
    for (int s = stage.first; s <= stage.last; ++s)
      owners[static_cast<std::size_t>(s)] = stage.rank;
  for (const model::Crossing& crossing : crossings) add_hop(crossing);
  for (Hop& hop : hops)
    hop.values = static_cast<std::int32_t>(std::count_if(
        hops.begin(), hops.end(), [&](const Hop& other) { return other.way == hop.way; }));
}

void Split::add_hop(const model::Crossing& crossing) {
  const auto beside = [&](const Hop& other) {
    return other.from == crossing.from && other.to == crossing.to;
  };
  const auto number = static_cast<std::int32_t>(std::count_if(hops.begin(), hops.end(), beside));
  const auto known = std::find_if(hops.begin(), hops.end(), beside);
  const auto way = known != hops.end() ? known->way : static_cast<std::int32_t>(ways.size());
  if (known == hops.end()) ways.emplace_back(rank_of(crossing.from), rank_of(crossing.to));
  hops.push_back({crossing, way, number, 1});
}

std::vector<int> Split::ranks() const {
  std::vector<int> list;
  for (const model::Stage& stage : stages) list.push_back(stage.rank);
  return list;
}

}  // namespace trainyard::strategy
