// SPDX-License-Identifier: GPL-3.0-or-later
// Trainings by ranks that have their own feature columns of every sample, for every kind of
// transport: they equal one device.
#pragma once

#include "core/experiment/sent_bytes.h"
#include "tests/conformance/small_training.h"

namespace trainyard::tests {

// 7 features, 24 samples a step, and a tail of 10 in an epoch of 250: of unlike shares, and of
// twelve ranks two have none.
inline experiment::Experiment vertical(int ranks) {
  experiment::Experiment e = small(ranks, 24);
  e.data.sharding.kind = data::ShardingKind::vertical;
  if (ranks == 1) e.strategy.kind = experiment::StrategyKind::one_device;
  return e;
}

// Parameters: those of one device, and on all ranks the same to the bit.
inline void expect_equal_parameters(const std::vector<RankOutcome>& ranks, const RankOutcome& one) {
  ASSERT_EQ(one.problem, base::Problem{});
  for (const RankOutcome& rank : ranks) {
    ASSERT_EQ(rank.problem, base::Problem{});
    EXPECT_LE(distance(rank.parameters, one.parameters), 1e-10);
    EXPECT_EQ(rank.parameters, ranks[0].parameters);
  }
}

// Payload that each rank sent, in the whole run.
inline std::vector<std::int64_t> sent_by(const std::vector<RankOutcome>& ranks) {
  std::vector<std::int64_t> list;
  for (const RankOutcome& rank : ranks) {
    std::int64_t sent = 0;
    for (const comm::Traffic& traffic : rank.traffic)
      sent += static_cast<std::int64_t>(traffic.sent_payload_bytes);
    list.push_back(sent);
  }
  return list;
}

// Compares fp64 parameters after 100 steps, fp32 gradients of one step, and every byte, including
// evaluation, with the formula.
inline void expect_columns_equal_one_device(int ranks, const MakeTransports& transports) {
  const auto many = trained_by(vertical(ranks), transports);
  expect_equal_parameters(many, trained_by(vertical(1), {})[0]);
  EXPECT_EQ(sent_by(many),
            experiment::sent_bytes(experiment::resolve(vertical(ranks), ".").value()).value());
  experiment::Experiment short_one = one_step(vertical(ranks)), alone = one_step(vertical(1));
  short_one.training.precision = alone.training.precision = experiment::Precision::fp32;
  expect_gradients_of(trained_by(alone, {})[0], trained_by(short_one, transports));
}

}  // namespace trainyard::tests
