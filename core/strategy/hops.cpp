// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/hops.h"

#include <algorithm>
#include <set>

#include "core/experiment/stages.h"

namespace trainyard::strategy {

Split::Split(const experiment::Resolved& e) : owners(experiment::owners_of(e)), stages(model::stages_of(owners)), paths(model::paths_of(e.model, stages)) {
  const int segments = static_cast<int>(paths.size());
  for (int value = 0; value < segments; ++value) {
    const auto& path = paths[static_cast<std::size_t>(value)];
    std::set<int> have{rank_of(path.front())};
    for (std::size_t i = 1; i < path.size(); ++i)
      if (have.insert(rank_of(path[i])).second) add_hop(value, path[i - 1], path[i]);
  }
  for (int value = e.model.first_with_parameters; value < segments; ++value) {
    const auto& path = paths[static_cast<std::size_t>(value)];
    for (std::size_t i = path.size(); i-- > 1;)
      if (rank_of(path[i]) != rank_of(path[i - 1])) add_hop(value, path[i], path[i - 1]);
  }
  for (Hop& hop : hops)
    hop.values = static_cast<std::int32_t>(std::count_if(hops.begin(), hops.end(), [&](const Hop& other) { return other.group == hop.group; }));
}

void Split::add_hop(int value, int from, int to) {
  const auto beside = [&](const Hop& other) { return other.from == from && other.to == to; };
  const auto number = static_cast<std::int32_t>(std::count_if(hops.begin(), hops.end(), beside));
  const auto known = std::find_if(hops.begin(), hops.end(), beside);
  const auto group = known != hops.end() ? known->group : static_cast<std::int32_t>(groups.size());
  if (known == hops.end()) groups.push_back({{rank_of(from), rank_of(to)}});
  hops.push_back({value, from, to, group, number, 1});
}

std::vector<int> Split::ranks() const {
  std::vector<int> list;
  for (const model::Stage& stage : stages) list.push_back(stage.rank);
  return list;
}

bool Split::passes(int value, int rank) const {
  const auto& path = paths[static_cast<std::size_t>(value)];
  return std::any_of(path.begin(), path.end(), [&](int stage) { return rank_of(stage) == rank; });
}

}  // namespace trainyard::strategy
