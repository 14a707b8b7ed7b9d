// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of TPUs are proved, and send what the formula of their torus says.
#include <gtest/gtest.h>

#include "core/check/check.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::check {
namespace {

struct Torus {
  int hosts, devices, rows, columns;  // as drawn, and the torus that this makes
};

experiment::Resolved on(const Torus& torus, std::int64_t elements_per_chunk) {
  experiment::Experiment e = strategy::small(1);
  e.topology = tests::drawn_tpus(torus.hosts, torus.devices);
  e.strategy.kind = experiment::StrategyKind::tpu;
  e.strategy.algorithm = collective::Algorithm::automatic;
  e.strategy.bucket_bytes = 1e9;
  e.data.features = elements_per_chunk - 1;  // one layer: (features + 1) x n parameters
  e.data.classes = std::max(2, torus.hosts * torus.devices);
  e.model.layers = {{model::LayerKind::linear, 0}};
  e.data.train_samples = 1003;
  return strategy::resolved(e);
}

class TorusOfTpus : public testing::TestWithParam<Torus> {};

// a columns, b rows: 2 (a - 1)/a S + 2 (b - 1)/b S/a from every rank, in 2 (a - 1) + 2 (b - 1)
// rounds; S divides evenly here.
TEST_P(TorusOfTpus, is_proved_and_sends_the_bytes_of_the_formula) {
  const Torus& t = GetParam();
  const auto r = on(t, 8);
  const Report report = examine(strategy::make_plan(r).value());
  EXPECT_EQ(base::to_string(report.problems()), "");
  const std::int64_t a = t.columns, b = t.rows, s = 4 * r.model.elements;
  ASSERT_EQ(s % (a * b), 0);
  const ProgramTraffic& train = report.traffic.at(0);
  for (std::int32_t rank = 0; rank < a * b; ++rank)
    EXPECT_EQ(train.bytes_from(rank), 2 * (a - 1) * s / a + 2 * (b - 1) * (s / a) / b) << rank;
  EXPECT_EQ(train.rounds, 2 * (a - 1) + 2 * (b - 1));
}

INSTANTIATE_TEST_SUITE_P(Drawn, TorusOfTpus,
                         testing::Values(Torus{1, 1, 1, 1}, Torus{1, 2, 1, 2}, Torus{1, 3, 1, 3},
                                         Torus{1, 4, 2, 2}, Torus{1, 5, 1, 5}, Torus{1, 6, 2, 3},
                                         Torus{1, 7, 1, 7}, Torus{1, 8, 2, 4}, Torus{1, 9, 3, 3},
                                         Torus{1, 16, 4, 4}, Torus{2, 4, 2, 4}, Torus{4, 2, 4, 2},
                                         Torus{3, 1, 3, 1}),
                         [](const auto& row) {
                           return std::to_string(row.param.rows) + "x" +
                                  std::to_string(row.param.columns) + "_on_" +
                                  std::to_string(row.param.hosts);
                         });

}  // namespace
}  // namespace trainyard::check
