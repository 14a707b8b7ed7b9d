// SPDX-License-Identifier: GPL-3.0-or-later
// Who writes a checkpoint of parts.
#include <gtest/gtest.h>

#include "core/session/resume.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::session {
namespace {

// Hosts that have a whole model each: the one whose chief has the running statistics.
TEST(WritersOfParts, are_where_the_chief_is) {
  experiment::Experiment e = strategy::small(4);
  e.topology = tests::drawn_hosts(2, 2);
  e.topology.hosts[1].devices[1].role = topology::Role::chief;
  e.strategy.kind = experiment::StrategyKind::fsdp;
  e.strategy.fsdp.group = experiment::ShardGroup::host;
  const experiment::Resolved resolved = strategy::resolved(e);
  ASSERT_EQ(resolved.chief, 3);
  EXPECT_EQ(count_parts(resolved), 2);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(writes_part(resolved, rank), rank >= 2) << rank;
}

}  // namespace
}  // namespace trainyard::session
