// SPDX-License-Identifier: GPL-3.0-or-later
// Layers on several devices in the inspector: where they are is said beside what says so, and
// wanted on the drawing.
#include "core/experiment/stages.h"

#include <QLabel>
#include <QSignalSpy>

#include "tests/drawings.h"
#include "tests/ui/inspector/inspector_fixture.h"

namespace trainyard::ui {
namespace {

class Stages : public InspectorTest {
 protected:
  Stages() : pictures_(&inspector_, &Inspector::picture_requested) {
    QObject::connect(&inspector_.cost(), &CostLine::stages_known, &inspector_,
                     [this](const StageAssignment& stages) { layers_ = stages.layers; });
  }

  QString shown(const char* form, const QString& part) {
    for (const QLabel* label : inspector_.form(form).findChildren<QLabel*>())
      if (label->text().contains(part) && label->isVisibleTo(&inspector_)) return label->text();
    return {};
  }
  LogicalTopology picture() {
    return pictures_.empty() ? LogicalTopology()
                             : pictures_.last().first().value<LogicalTopology>();
  }
  void pipe() {
    document_.edit("pipeline", [](experiment::Experiment& e) {
      e.topology = tests::drawn_hosts(1, 2);
      e.strategy.kind = experiment::StrategyKind::pipeline;
      e.training.accumulation_steps = 3;
    });
    ASSERT_TRUE(QTest::qWaitFor([&] { return layers_.size() == 2; }));
  }

  QSignalSpy pictures_;
  std::vector<std::string> layers_;
};

TEST_F(Stages, are_said_beside_the_partition_with_what_they_idle_at_best) {
  pipe();
  const auto resolved = experiment::resolve(now(), "").value();
  ASSERT_EQ(resolved.document.strategy.stages.places.size(), 2u);
  EXPECT_EQ(*experiment::stages_line(resolved), "rank 0 has layer 0, rank 1 has layer 2");
  EXPECT_EQ(
      shown("strategy", "Rank 0 has").toStdString(),
      "Rank 0 has layer 0, rank 1 has layer 2. With equal stages and links without cost, ranks "
      "idle 25.0 % of the time.");
  EXPECT_EQ(shown("training", "Global batch"),
            "Global batch: 96 samples, each through all layers, in 3 micro-batches");
}

// Transfers between stages in a step, equal in both directions.
TEST_F(Stages, are_wanted_on_the_drawing_until_nothing_is_split) {
  pipe();
  ASSERT_EQ(picture().flows.size(), 2u);
  const auto resolved = experiment::resolve(now(), "").value();
  const std::int64_t crosses = 96 * resolved.model.segments[0].outputs * 4;
  EXPECT_EQ(picture().flows[0], (collective::Flow{0, 1, crosses}));
  EXPECT_EQ(picture().flows[1], (collective::Flow{1, 0, crosses}));
  EXPECT_EQ(layers_[0], "0");
  document_.set_value("strategy.kind", "mirrored");
  EXPECT_TRUE(QTest::qWaitFor([&] { return picture() == LogicalTopology(); }));
  EXPECT_EQ(shown("strategy", "Rank 0 has layer"), "");
}

// Layers themselves are split: that is said beside the strategy, and the drawing stays that of the
// all-reduce.
TEST_F(Stages, of_split_layers_are_said_beside_the_strategy) {
  document_.edit("split", [](experiment::Experiment& e) {
    e.topology = tests::drawn_hosts(1, 2);
    e.strategy.kind = experiment::StrategyKind::tensor_parallel;
  });
  EXPECT_TRUE(QTest::qWaitFor([&] { return !shown("strategy", "by outputs").isEmpty(); }));
  EXPECT_EQ(shown("strategy", "by outputs"),
            "Layer 0 by outputs, layer 2 by inputs; every rank has all other layers in full.");
  EXPECT_EQ(picture(), LogicalTopology());
  EXPECT_EQ(layers_, (std::vector<std::string>{"0\u20132 (1/2)", "0\u20132 (2/2)"}));
  EXPECT_EQ(shown("training", "Global batch"), "Global batch: 32 samples, each through all layers");
  document_.set_value("strategy.kind", "mirrored");
  EXPECT_TRUE(QTest::qWaitFor([&] { return shown("strategy", "by outputs").isEmpty(); }));
}

}  // namespace
}  // namespace trainyard::ui
