// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/state_groups.h"

#include <map>
#include <utility>

#include "core/experiment/mesh.h"
#include "core/experiment/servers.h"
#include "core/experiment/stages.h"
#include "core/experiment/sync_batch_norm.h"

namespace trainyard::experiment {

std::vector<StateGroup> state_groups(const Resolved& e) {
  const StrategyKind kind = e.document.strategy.kind;
  const bool is_one_rank =
      e.world() < 2 || kind == StrategyKind::one_device || kind == StrategyKind::data_parallel;
  if (e.data.held_out_samples == 0 || e.evaluators > 0 || is_one_rank || has_servers(kind) ||
      !has_local_statistics(e.model))
    return {};
  std::map<int, StateGroup> by_root;
  for (int rank = 0; rank < e.world(); ++rank) {
    const std::int64_t elements = of_rank(e, rank).model.state_elements;
    if (elements == 0) continue;
    const int root = splits_model(kind) ? peer_in_chief_replica(e, rank) : e.chief;
    StateGroup& group = by_root[root];
    group.root = root;
    group.elements = elements;
    group.ranks.push_back(rank);
  }
  std::vector<StateGroup> groups;
  for (auto& [root, group] : by_root)
    if (group.ranks.size() > 1) groups.push_back(std::move(group));
  return groups;
}

}  // namespace trainyard::experiment
