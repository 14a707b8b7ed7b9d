// SPDX-License-Identifier: GPL-3.0-or-later
// TPUs in the inspector: requirements and emulation are shown at their fields.
#include <QComboBox>
#include <QLabel>
#include <algorithm>

#include "core/experiment/multiplies.h"
#include "tests/drawings.h"
#include "tests/ui/inspector/inspector_fixture.h"

namespace trainyard::ui {
namespace {

using collective::Algorithm;

class TpuInspector : public InspectorTest {
 protected:
  TpuInspector() { inspector_.resize(360, 1600); }

  void draw_tpus(int devices) {
    document_.edit("draw",
                   [&](experiment::Experiment& e) { e.topology = tests::drawn_tpus(1, devices); });
  }
  bool says(const QString& text) {
    const auto labels = inspector_.findChildren<QLabel*>();
    return std::ranges::any_of(labels, [&](const QLabel* label) {
      return label->isVisibleTo(&inspector_) && label->text().contains(text);
    });
  }
};

TEST_F(TpuInspector, strategy_requires_tpus_and_torus) {
  document_.set_value("strategy.kind", "tpu");
  wait_for_problems(2);
  FieldForm& strategy = inspector_.form("strategy");
  EXPECT_TRUE(strategy.problem_text("kind").contains("cpu0 (cpu) and 1 other"))
      << strategy.problem_text("kind").toStdString();
  EXPECT_TRUE(strategy.problem_text("algorithm").contains("ring"))
      << strategy.problem_text("algorithm").toStdString();
  draw_tpus(4);
  wait_for_problems(1);
  EXPECT_EQ(strategy.problem_text("kind"), "");
  document_.set_value("strategy.algorithm", "auto");
  wait_for_problems(0);
}

TEST_F(TpuInspector, only_torus_can_be_selected) {
  document_.set_value("strategy.kind", "tpu");
  draw_tpus(4);
  AlgorithmTable& table = inspector_.algorithms().table();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !table.rows().empty(); }));
  for (const AlgorithmRow& row : table.rows())
    EXPECT_EQ(row.fits(), row.offer.algorithm == Algorithm::torus)
        << base::name_of(row.offer.algorithm);
}

TEST_F(TpuInspector, emulation_and_rounding_have_notes_at_their_fields) {
  const QString emulated = "EMULATED: 4 of 4 devices", rounded = "Chosen: bfloat16";
  EXPECT_FALSE(says(emulated));
  draw_tpus(4);
  EXPECT_TRUE(says(emulated));
  EXPECT_FALSE(says(rounded));
  document_.set_value("strategy.kind", "tpu");
  EXPECT_TRUE(says(rounded));
  document_.set_value("training.multiplies", "bfloat16");
  EXPECT_FALSE(says(rounded)) << "the format is explicit";
  document_.set_value("run.emulate", false);
  EXPECT_FALSE(says(emulated)) << "a problem replaces the note";
}

TEST_F(TpuInspector, multiplies_have_four_choices) {
  auto* multiplies = inner<QComboBox>(inspector_.form("training").editor("multiplies"));
  ASSERT_EQ(multiplies->count(), 4);
  multiplies->setFocus();
  QTest::keyClick(multiplies, Qt::Key_End);
  EXPECT_EQ(now().training.multiplies, experiment::Multiplies::tf32);
  EXPECT_TRUE(says(QString::fromStdString(experiment::tf32_note(now()).value())));
}

}  // namespace
}  // namespace trainyard::ui
