// SPDX-License-Identifier: GPL-3.0-or-later
// Sharded hierarchical: h hosts of g members each. A direct reduce-scatter in each host leaves
// every member one of g shards. The members of all hosts that hold the same shard all-reduce it in
// a ring. A direct all-gather in each host completes the buffer. Every shard has h chunks. If hosts
// have unequal numbers of members, the shards do not match. The program is then empty, and the
// checker reports that no sum is computed. Rounds: 2 (h - 1), plus 2 within hosts if g > 1. A
// member sends 2 (g - 1)/g S within its host and 2 (h - 1)/h S/g between hosts.
#include <algorithm>

#include "core/collective/member_ring.h"

namespace trainyard::collective {

Rounds sharded_hierarchical(const Formation& formation, int position) {
  if (!formation.even()) return {};
  const std::vector<int>& host = formation.host_of(position);
  const int hosts = static_cast<int>(formation.hosts.size());
  MemberRing within{host,
                    static_cast<int>(std::find(host.begin(), host.end(), position) - host.begin()),
                    0, hosts};
  MemberRing between{{}, 0, within.chunk(within.self), 1};
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
