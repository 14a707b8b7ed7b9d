// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of real strategies are proved, whatever the model, the ranks and the buckets.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/core/check/any_sound_plan.h"

namespace trainyard::check {
namespace {

using strategy::resolved;

RC_GTEST_PROP(Examine, proves_every_plan_that_a_strategy_makes, ()) {
  const auto e = resolved(any_experiment(*rc::gen::inRange(1, 9)));
  RC_LOG() << "ranks " << e.world() << ", tail " << e.tail_samples;
  RC_ASSERT(base::to_string(check(strategy::make_plan(e).value())) == "");
  RC_ASSERT(base::to_string(check(strategy::coarse_plan(e).value())) == "");
}

TEST(Examine, proves_one_device) {
  auto e = strategy::small(1);
  e.strategy.kind = experiment::StrategyKind::one_device;
  const Report report = examine(strategy::make_plan(resolved(e)).value());
  EXPECT_EQ(base::to_string(report.problems()), "");
  EXPECT_TRUE(report.grid.empty());
  for (const ProgramTraffic& program : report.traffic)
    EXPECT_TRUE(program.sent.empty()) << program.program;
}

TEST(Examine, counts_bytes_and_rounds_by_program) {
  auto e = strategy::small(3);
  e.strategy.bucket_bytes = 1e9;
  const auto r = resolved(e);
  const Report report = examine(strategy::make_plan(r).value());
  ASSERT_EQ(report.traffic.front().program, "train");
  const ProgramTraffic& train = report.traffic.front();
  const std::int64_t elements = r.model.elements;  // 6x8 + 4x7 + 5x5 = 101
  ASSERT_EQ(elements, 101);
  EXPECT_EQ(train.rounds, 4);
  EXPECT_EQ(train.sent, (std::vector<Sent>{{0, 1, 4 * (2 * elements - 34 - 34), 4},
                                           {1, 2, 4 * (2 * elements - 34 - 33), 4},
                                           {2, 0, 4 * (2 * elements - 33 - 34), 4}}));
  EXPECT_EQ(train.bytes_from(0), 4 * (2 * elements - 68));
}

TEST(Examine, measures_memory_between_persistent_buffers_and_the_sum_of_all) {
  const auto r = resolved(strategy::small(2));
  const plan::Plan plan = strategy::make_plan(r).value();
  const Report report = examine(plan);
  ASSERT_EQ(report.memory.size(), 2u);
  std::int64_t all = 0;
  for (const plan::Buffer& buffer : plan.rank_plan(0).buffers) all += buffer.bytes();
  const Memory& memory = report.memory[0];
  EXPECT_EQ(memory.buffers, all);
  EXPECT_EQ(memory.shared, 4 * r.model.elements);
  EXPECT_LT(memory.peak, memory.buffers);
  EXPECT_GT(memory.peak, 3 * 4 * r.model.elements);  // parameters, gradients, momentum
}

}  // namespace
}  // namespace trainyard::check
