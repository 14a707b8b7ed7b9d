// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/reduced_run.h"

#include <gtest/gtest.h>

#include "core/experiment/resolve.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::ui {
namespace {

std::vector<int> numbers(const experiment::Experiment& e) {
  const ReducedRun run = reduced_run(experiment::to_json(strategy::resolved(e))).value();
  std::vector<int> list;
  for (const RunBucket& bucket : run.buckets) list.push_back(bucket.number);
  return list;
}

// What batch normalisation sums over ranks are no gradients, and go over another group.
TEST(ReducedRun, offers_the_buckets_of_gradients_alone) {
  const auto apart = strategy::small_normalised_images(3), together = strategy::synchronised(apart);
  EXPECT_GE(numbers(apart).size(), 2u);
  EXPECT_EQ(numbers(together), numbers(apart));
}

}  // namespace
}  // namespace trainyard::ui
