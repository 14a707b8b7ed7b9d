// SPDX-License-Identifier: GPL-3.0-or-later
// Layers on several devices: the inspector lists their ranks and requests them on the drawing.
#include "core/experiment/stages.h"

#include <QLabel>
#include <QSignalSpy>

#include "tests/drawings.h"
#include "tests/ui/has_all.h"
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

TEST_F(Stages, are_listed_beside_the_partition_with_the_ideal_bubble) {
  pipe();
  const auto resolved = experiment::resolve(now(), "").value();
  ASSERT_EQ(resolved.document.strategy.stages.places.size(), 2u);
  EXPECT_EQ(*experiment::stages_line(resolved), "rank 0 has layer 0, rank 1 has layer 2");
  EXPECT_THAT(shown("strategy", "Rank 0 has"),
              test::HasAll("Rank 0 has layer 0, rank 1 has layer 2", "idle 25.0 %"));
  EXPECT_THAT(shown("training", "Global batch"), test::HasAll("96 samples", "3 micro-batches"));
}

// Transfers between stages in a step, equal in both directions.
TEST_F(Stages, are_shown_on_the_drawing_while_the_model_is_split) {
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

// Tensor-parallel layers are listed beside the strategy. The drawing shows the all-reduce.
TEST_F(Stages, tensor_parallel_layers_are_listed_beside_the_strategy) {
  document_.edit("split", [](experiment::Experiment& e) {
    e.topology = tests::drawn_hosts(1, 2);
    e.strategy.kind = experiment::StrategyKind::tensor_parallel;
  });
  EXPECT_TRUE(QTest::qWaitFor([&] { return !shown("strategy", "by outputs").isEmpty(); }));
  EXPECT_THAT(shown("strategy", "by outputs"),
              test::HasAll("Layer 0 is split by outputs, layer 2 is split by inputs"));
  EXPECT_EQ(picture(), LogicalTopology());
  EXPECT_EQ(layers_, (std::vector<std::string>{"0\u20132 (1/2)", "0\u20132 (2/2)"}));
  EXPECT_THAT(shown("training", "Global batch"), test::HasAll("32 samples"));
  document_.set_value("strategy.kind", "mirrored");
  EXPECT_TRUE(QTest::qWaitFor([&] { return shown("strategy", "by outputs").isEmpty(); }));
}

}  // namespace
}  // namespace trainyard::ui
