// SPDX-License-Identifier: GPL-3.0-or-later
// Sharded hierarchical: h hosts of g members each. A direct reduce-scatter in each host leaves
// every member one of g shares; those that hold the same share on all hosts run a ring on it; a
// direct all-gather in each host ends it. Every share has h chunks. Of hosts with unequally many
// there are no shares that all have: no rounds, which leave everybody without the sum, and no
// checker takes that for one. Rounds: 2 (h - 1), and 2 within hosts where g > 1. A member sends 2
// (g - 1)/g S within its host and 2 (h - 1)/h S/g between hosts.
#include <algorithm>

#include "core/collective/circle.h"

namespace trainyard::collective {

Rounds sharded_hierarchical(const Formation& formation, int position) {
  if (!formation.even()) return {};
  const std::vector<int>& host = formation.host_of(position);
  const int hosts = static_cast<int>(formation.hosts.size());
  Circle within{host,
                static_cast<int>(std::find(host.begin(), host.end(), position) - host.begin()), 0,
                hosts};
  Circle between{{}, 0, within.chunk(within.self), 1};
  for (const auto& other : formation.hosts) {
    if (other == host) between.self = between.size();
    between.members.push_back(other[static_cast<std::size_t>(within.self)]);
  }
  Rounds rounds = direct_reduce_scatter(within);
  append(rounds, ring_reduce_scatter(between));
  append(rounds, ring_all_gather(between));
  append(rounds, direct_all_gather(within));
  return rounds;
}

}  // namespace trainyard::collective
