// SPDX-License-Identifier: GPL-3.0-or-later
// Leader-hierarchical (Goyal et al. 2017, section 4): the first member of each of the h hosts is
// its leader. Leaders sum their hosts' buffers, run a ring among themselves on h chunks, and
// broadcast the result in their hosts. Rounds: 2 (h - 1) + 2. The leader of g members on host i
// sends 2 S - c[i] - c[i + 1] in the ring and (g - 1) S to its host; any other member sends S.
#include "core/collective/member_ring.h"

namespace trainyard::collective {
namespace {

MemberRing leaders(const Formation& formation, int leader) {
  MemberRing circle;
  for (const auto& host : formation.hosts) {
    if (host.front() == leader) circle.self = circle.size();
    circle.members.push_back(host.front());
  }
  return circle;
}

}  // namespace

Rounds leader_hierarchical(const Formation& formation, int position) {
  if (formation.members == 1) return {};
  const std::vector<int>& host = formation.host_of(position);
  const int leader = host.front(), hosts = static_cast<int>(formation.hosts.size());
  // one round to reduce, 2 (h - 1) for the ring, one to broadcast
  Rounds rounds(static_cast<std::size_t>(2 * hosts));
  if (position != leader) {
    rounds.front() = {{StepKind::send, leader, 0, hosts}};
    rounds.back() = {{StepKind::recv, leader, 0, hosts}};
    return rounds;
  }
  const MemberRing circle = leaders(formation, leader);
  Rounds between = ring_reduce_scatter(circle);
  append(between, ring_all_gather(circle));
  std::move(between.begin(), between.end(), rounds.begin() + 1);
  if (host.size() > 1) rounds.front() = {{StepKind::reduce_many, -1, 0, hosts, host}};
  for (const int member : host)
    if (member != leader) rounds.back().push_back({StepKind::send, member, 0, hosts});
  return rounds;
}

}  // namespace trainyard::collective
