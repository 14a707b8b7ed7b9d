// SPDX-License-Identifier: GPL-3.0-or-later
// Spinning of ranks before they sleep: only while training ranks have idle cores.
#include <gtest/gtest.h>

#include "app/data_plane.h"
#include "core/base/machine.h"

namespace trainyard::process {
namespace {

experiment::Resolved ranks_of(int trainers, int evaluators) {
  experiment::Resolved e;
  e.ranks.resize(static_cast<std::size_t>(trainers + evaluators));
  e.hosts.assign(e.ranks.size(), 0);
  e.evaluators = evaluators;
  return e;
}

TEST(SpinPolicy, evaluator_does_not_take_a_core_from_training_ranks) {
  const int cores = base::usable_cores();
  const auto alone = app::patience_of(ranks_of(cores, 0)),
             evaluated = app::patience_of(ranks_of(cores, 1)),
             crowded = app::patience_of(ranks_of(cores + 1, 0));
  EXPECT_EQ(evaluated.spin, alone.spin);
  EXPECT_EQ(evaluated.yields, alone.yields);
  EXPECT_LT(crowded.spin, alone.spin) << "an additional training rank shares a core";
}

TEST(SpinPolicy, sleeps_while_waiting_for_imposed_links) {
  experiment::Resolved e = ranks_of(base::usable_cores(), 0);
  e.ranks.resize(2), e.hosts.assign(2, 0);
  e.document.run.links = experiment::LinkSpeed::imposed;
  EXPECT_EQ(app::patience_of(e).yields, 0);
}

}  // namespace
}  // namespace trainyard::process
