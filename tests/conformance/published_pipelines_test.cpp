// SPDX-License-Identifier: GPL-3.0-or-later
// The simulator beside published throughputs of pipelines (published_pipelines.h, where the
// constants that are fitted stand as tests/bench found them).
#include "tests/published_pipelines.h"

#include <gtest/gtest.h>

namespace trainyard::tests {
namespace {

constexpr double kFitted = 0.01;

TEST(PublishedPipelines, are_predicted_from_one_number_of_devices) {
  for (const Figure& figure : figures())
    for (std::size_t i = 0; i < figure.points.size(); ++i) {
      SCOPED_TRACE(figure.name + ", " + std::to_string(figure.points[i].devices) + " devices");
      EXPECT_NEAR(figure.error(i, figure.with(figure.fitted)), 0,
                  i == figure.fit ? kFitted : figure.most_error);
    }
}

TEST(PublishedPipelines, have_the_number_of_layers_of_torchgpipe) {
  EXPECT_EQ(resnet101().first.size(), 370U);
}

TEST(PublishedPipelines, recompute_every_activation) {
  const Pipelined of{transformer(2), sentences(16), 1};
  const experiment::Resolved r = resolved(of, kP100, 2, 3);
  const plan::Plan kept = strategy::make_plan(r).value(), again = with_recomputation(kept);
  const auto count = [](const plan::Plan& plan, plan::OpKind kind) {
    std::ptrdiff_t ops = 0;
    for (std::int32_t rank = 0; rank < plan.ranks; ++rank) {
      const plan::RankPlan ranked = plan.rank_plan(rank);
      const auto& train = ranked.programs[static_cast<std::size_t>(ranked.program("train"))].ops;
      ops += std::count_if(train.begin(), train.end(),
                           [&](const plan::Op& op) { return op.kind == kind; });
    }
    return ops;
  };
  EXPECT_EQ(count(kept, plan::OpKind::recompute), 0);
  EXPECT_EQ(count(again, plan::OpKind::recompute), count(kept, plan::OpKind::forward));
}

}  // namespace
}  // namespace trainyard::tests
