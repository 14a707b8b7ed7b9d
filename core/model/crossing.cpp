// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/crossing.h"

#include <set>

namespace trainyard::model {

std::vector<Crossing> crossings_of(const Model& model, const std::vector<Stage>& stages) {
  const auto rank_of = [&](int stage) { return stages[static_cast<std::size_t>(stage)].rank; };
  const std::vector<std::vector<int>> paths = paths_of(model, stages);
  const int segments = static_cast<int>(paths.size());
  std::vector<Crossing> list;
  for (int value = 0; value < segments; ++value) {
    const auto& path = paths[static_cast<std::size_t>(value)];
    std::set<int> have{rank_of(path.front())};
    for (std::size_t i = 1; i < path.size(); ++i)
      if (have.insert(rank_of(path[i])).second) list.push_back({value, path[i - 1], path[i]});
  }
  for (int value = model.first_with_parameters; value < segments; ++value) {
    const auto& path = paths[static_cast<std::size_t>(value)];
    for (std::size_t i = path.size(); i-- > 1;)
      if (rank_of(path[i]) != rank_of(path[i - 1])) list.push_back({value, path[i], path[i - 1]});
  }
  return list;
}

}  // namespace trainyard::model
