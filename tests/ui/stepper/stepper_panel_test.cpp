// SPDX-License-Identifier: GPL-3.0-or-later
// The stepper, used by keys, mouse and accessible texts.
#include "ui/stepper/stepper_panel.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QSpinBox>
#include <QTest>
#include <QToolButton>
#include <cmath>

#include "tests/drawings.h"
#include "tests/ui/has_all.h"
#include "tests/ui/pictures.h"

namespace trainyard::ui {
namespace {

class StepperPanelTest : public testing::Test {
 protected:
  StepperPanelTest() {
    draw(tests::drawn_hosts(1, 3));
    QObject::connect(&panel_, &StepperPanel::transit_changed,
                     [this](const auto& transit) { transit_ = transit; });
    panel_.resize(1400, 420);
    panel_.show();
    panel_.set_in_front(true);
    panel_.activateWindow();
    panel_.setFocus();
    EXPECT_TRUE(QTest::qWaitForWindowActive(&panel_));
  }
  ~StepperPanelTest() override { Theme::instance().apply(Theme::Kind::light); }

  void draw(const topology::Topology& drawing) {
    experiment::Experiment experiment;
    experiment.topology = drawing;
    document_.reset(experiment);
  }
  void key(int key) { QTest::keyClick(&panel_.table(), static_cast<Qt::Key>(key)); }
  int step() { return panel_.stepper().step(); }
  int last() { return panel_.stepper().steps().count(); }
  QString cell(int rank, int chunk) {
    return panel_.table().model()->index(rank, chunk).data().toString();
  }
  QString accessible_text(int rank, int chunk) {
    return panel_.table().model()->index(rank, chunk).data(Qt::AccessibleTextRole).toString();
  }
  // Types values into the table.
  void type(int rank, int chunk, const QString& number) {
    panel_.table().setCurrentIndex(panel_.table().model()->index(rank, chunk));
    key(Qt::Key_F2);
    QWidget* editor = QApplication::focusWidget();
    ASSERT_NE(editor, &panel_.table());
    QTest::keyClick(editor, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(editor, number);
    QTest::keyClick(editor, Qt::Key_Return);
    EXPECT_TRUE(QTest::qWaitFor([&] { return QApplication::focusWidget() == &panel_.table(); }));
  }
  void choose(const char* field, const QString& text) {
    auto* combo = panel_.findChild<QComboBox*>(field);
    ASSERT_GE(combo->findText(text), 0) << text.toStdString();
    combo->setCurrentIndex(combo->findText(text));
    emit combo->activated(combo->currentIndex());
  }
  QToolButton* button(const QString& text) {
    for (QToolButton* one : panel_.findChildren<QToolButton*>())
      if (one->text() == text) return one;
    return nullptr;
  }
  void press(const QString& text) {
    ASSERT_TRUE(button(text)) << text.toStdString();
    QTest::mouseClick(button(text), Qt::LeftButton);
  }
  // Rank r begins with 10^r in every chunk, so sums identify their contributors.
  void type_powers() {
    for (int rank = 0; rank < 3; ++rank)
      for (int chunk = 0; chunk < 3; ++chunk)
        panel_.stepper().set_value(rank, chunk, std::pow(10, rank));
  }

  Document document_;
  StepperPanel panel_{document_};
  std::optional<Transit> transit_;
};

TEST_F(StepperPanelTest, begins_with_the_ranks_and_the_algorithm_of_the_drawing) {
  EXPECT_EQ(panel_.stepper().steps().exercise.hosts, (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(panel_.place(), "Start: 4 rounds, 12 steps");
  EXPECT_EQ(panel_.table().model()->rowCount(), 3);
  document_.set_value("strategy.algorithm", "direct");
  EXPECT_EQ(panel_.place(), "Start: 2 rounds, 12 steps");
}

TEST_F(StepperPanelTest, keys_move_by_steps_and_rounds_in_both_directions) {
  key(Qt::Key_Right);
  EXPECT_EQ(step(), 1);
  key(Qt::Key_PageDown);
  EXPECT_EQ(step(), 3);
  key(Qt::Key_Right);
  key(Qt::Key_Left);
  EXPECT_EQ(step(), 3);
  key(Qt::Key_End);
  EXPECT_EQ(step(), 12);
  key(Qt::Key_Right);
  EXPECT_EQ(step(), 12);
  key(Qt::Key_PageUp);
  EXPECT_EQ(step(), 9);
  key(Qt::Key_Home);
  EXPECT_EQ(step(), 0);
  key(Qt::Key_Left);
  EXPECT_EQ(step(), 0);
}

TEST_F(StepperPanelTest, buttons_move_like_keys) {
  press("Next step");
  press("Next round");
  EXPECT_EQ(step(), 3);
  EXPECT_EQ(panel_.place(), "Round 1 of 4, step 3 of 12");
  press("Previous step");
  press("Previous round");
  EXPECT_EQ(step(), 0);
  EXPECT_FALSE(button("Previous step")->isEnabled());
  press("Last");
  EXPECT_FALSE(button("Next step")->isEnabled());
  press("First");
  EXPECT_EQ(step(), 0);
}

TEST_F(StepperPanelTest, table_shows_exact_values_and_their_contributors) {
  type_powers();
  EXPECT_EQ(cell(2, 0), "100 (2)");
  key(Qt::Key_PageDown);
  EXPECT_EQ(cell(2, 0), "110 (2+1)");
  EXPECT_THAT(panel_.sentence(), test::HasAll("Rank 1", "chunk 0", "rank 2", "110 (2+1)"));
  EXPECT_THAT(accessible_text(2, 0), test::HasAll("rank 2, chunk 0: 110", "ranks 2+1", "changed"));
  EXPECT_THAT(accessible_text(1, 0), test::HasAll("rank 1, chunk 0: 10", "ranks 1", "sent"));
  key(Qt::Key_End);
  for (int rank = 0; rank < 3; ++rank)
    for (int chunk = 0; chunk < 3; ++chunk)
      EXPECT_TRUE(cell(rank, chunk).startsWith("111 (")) << cell(rank, chunk).toStdString();
  EXPECT_THAT(panel_.sentence(), test::HasAll("Done", "full sum"));
  EXPECT_TRUE(accessible_text(0, 0).contains("complete"));
}

TEST_F(StepperPanelTest, partial_sum_of_many_ranks_is_shown_beside_the_table) {
  type_powers();
  choose("algorithm", "direct");
  key(Qt::Key_Right);
  EXPECT_EQ(cell(0, 0), "1 (0)");
  EXPECT_TRUE(accessible_text(0, 0).contains("scratch 11 (0+1)"))
      << accessible_text(0, 0).toStdString();
  EXPECT_THAT(panel_.sentence(), test::HasAll("scratch buffer", "11 (0+1)"));
  key(Qt::Key_Right);
  EXPECT_EQ(cell(0, 0), "111 (0+1+2)");
  EXPECT_FALSE(accessible_text(0, 0).contains("aside"));
}

TEST_F(StepperPanelTest, sent_bytes_are_beside_plan_and_formula) {
  EXPECT_EQ(panel_.table().model()->headerData(0, Qt::Vertical).toString(),
            "rank 0\nsent 0 of 16 B");
  key(Qt::Key_PageDown);
  EXPECT_EQ(panel_.table().model()->headerData(0, Qt::Vertical).toString(),
            "rank 0\nsent 4 of 16 B");
  EXPECT_THAT(panel_.foot(), test::HasAll("12 of 48 B", "2 (n - 1) S = 48 B (n = 3, S = 12 B)",
                                          "Example values", "chunk of 4 B"));
}

TEST_F(StepperPanelTest, engine_without_chunks_is_reported) {
  EXPECT_FALSE(panel_.foot().contains("gloo"));
  document_.set_value("strategy.engine", "gloo");
  key(Qt::Key_Right);
  EXPECT_THAT(panel_.foot(), test::HasAll("gloo", "no chunks"));
  choose("ranks", "from an example");
  EXPECT_FALSE(panel_.foot().contains("gloo")) << "an example is not a run";
}

TEST_F(StepperPanelTest, program_of_the_selected_rank_marks_the_line_of_the_step) {
  EXPECT_EQ(panel_.program().current_line(), "");
  key(Qt::Key_Right);
  EXPECT_TRUE(panel_.program().current_line().startsWith("RED.b0.t0.c1<r2"))
      << panel_.program().current_line().toStdString();
  EXPECT_THAT(panel_.program().current_line(), test::HasAll("add chunk 1", "rank 2"));
  key(Qt::Key_Down);
  EXPECT_EQ(panel_.table().rank(), 1);
  EXPECT_EQ(panel_.program().current_line(), "") << "rank 1 does not participate in the first step";
  key(Qt::Key_Right);
  EXPECT_TRUE(panel_.program().current_line().startsWith("RED.b0.t0.c2<r0"));
  EXPECT_TRUE(panel_.program().toPlainText().contains("✓") == false);
  key(Qt::Key_End);
  EXPECT_EQ(panel_.program().toPlainText().count("✓") + panel_.program().toPlainText().count("▶"),
            8);
}

TEST_F(StepperPanelTest, program_belongs_to_a_rank_of_the_step) {
  const auto title = [&] { return panel_.program().accessibleName(); };
  EXPECT_EQ(title(), "Program of rank 0");
  key(Qt::Key_Right);
  EXPECT_EQ(title(), "Program of rank 0") << "(receiver)";
  key(Qt::Key_Right);
  EXPECT_EQ(title(), "Program of rank 0") << "the sending rank";
  EXPECT_TRUE(panel_.program().current_line().startsWith("SEND.b0.t0.c2>r1"))
      << panel_.program().current_line().toStdString();
  key(Qt::Key_Right);
  EXPECT_EQ(title(), "Program of rank 2") << "the receiving rank";
  EXPECT_TRUE(panel_.program().current_line().startsWith("RED.b0.t0.c0<r1"))
      << panel_.program().current_line().toStdString();
  EXPECT_EQ(panel_.table().rank(), 0) << "still selected";
  key(Qt::Key_Left);
  EXPECT_EQ(title(), "Program of rank 0");
}

TEST_F(StepperPanelTest, values_can_be_edited_only_at_the_start) {
  type(1, 2, "42");
  EXPECT_EQ(cell(1, 2), "42 (1)");
  key(Qt::Key_Right);
  panel_.table().setCurrentIndex(panel_.table().model()->index(0, 0));
  key(Qt::Key_F2);
  EXPECT_EQ(QApplication::focusWidget(), &panel_.table());
  choose("algorithm", "direct");
  EXPECT_EQ(cell(1, 2), "42 (1)") << "the typed value is kept";
  panel_.findChild<QSpinBox*>("seed")->setValue(5);
  EXPECT_NE(cell(1, 2), "42 (1)") << "another seed gives other values";
}

TEST_F(StepperPanelTest, chunk_can_be_selected_by_keys) {
  QTest::keyClick(&panel_.table(), Qt::Key_Right, Qt::ControlModifier);
  EXPECT_EQ(panel_.table().currentIndex().column(), 1);
  EXPECT_EQ(step(), 0);
  QTest::keyClick(&panel_.table(), Qt::Key_Left, Qt::ControlModifier);
  EXPECT_EQ(panel_.table().currentIndex().column(), 0);
}

TEST_F(StepperPanelTest, space_plays_at_the_set_speed_and_escape_stops) {
  panel_.findChild<QDoubleSpinBox*>()->setValue(0.1);
  key(Qt::Key_Space);
  EXPECT_TRUE(panel_.playing());
  EXPECT_TRUE(button("Stop"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return step() >= 2; }));
  key(Qt::Key_Escape);
  EXPECT_FALSE(panel_.playing());
  const int stopped = step();
  EXPECT_LT(stopped, last());
  key(Qt::Key_Space);
  ASSERT_TRUE(QTest::qWaitFor([&] { return step() == last(); }));
  EXPECT_FALSE(panel_.playing()) << "playing stops at the end";
  key(Qt::Key_Space);
  EXPECT_EQ(step(), 0) << "playing restarts from the end";
}

TEST_F(StepperPanelTest, space_on_a_button_presses_the_button) {
  button("Next step")->setFocus();
  QTest::keyClick(button("Next step"), Qt::Key_Space);
  EXPECT_EQ(step(), 1);
  EXPECT_FALSE(panel_.playing());
  QTest::keyClick(button("Next step"), Qt::Key_Left);
  EXPECT_EQ(step(), 0);
}

TEST_F(StepperPanelTest, step_is_on_the_canvas_while_the_panel_is_visible) {
  EXPECT_FALSE(transit_);
  panel_.stepper().set_value(2, 1, 7);
  key(Qt::Key_Right);
  ASSERT_TRUE(transit_);
  EXPECT_EQ(transit_->from, "cpu2");
  EXPECT_EQ(transit_->to, "cpu0");
  EXPECT_EQ(transit_->label, "chunk 1: 7");
  ASSERT_EQ(transit_->route.size(), 1u);
  EXPECT_EQ(transit_->route[0].host, "host0");
  panel_.set_in_front(false);
  EXPECT_FALSE(transit_);
  panel_.set_in_front(true);
  EXPECT_TRUE(transit_);
  panel_.leave_canvas();
  EXPECT_FALSE(transit_);
  key(Qt::Key_Right);
  EXPECT_TRUE(transit_);
}

TEST_F(StepperPanelTest, edit_of_the_document_does_not_restore_the_canvas_step) {
  key(Qt::Key_Right);
  ASSERT_TRUE(transit_);
  panel_.leave_canvas();
  document_.set_value("training.optimizer.learning_rate", 0.25);
  EXPECT_EQ(step(), 1);
  EXPECT_FALSE(transit_);
  key(Qt::Key_Right);
  EXPECT_TRUE(transit_);
}

TEST_F(StepperPanelTest, hidden_panel_does_not_play) {
  key(Qt::Key_Space);
  panel_.set_in_front(false);
  EXPECT_FALSE(panel_.playing());
}

TEST_F(StepperPanelTest, example_with_other_ranks_is_not_on_the_canvas) {
  choose("ranks", "from an example");
  EXPECT_EQ(panel_.table().model()->rowCount(), 4);
  panel_.findChild<QSpinBox*>("members")->setValue(16);
  panel_.findChild<QSpinBox*>("hosts")->setValue(4);
  choose("algorithm", "sharded_hierarchical");
  EXPECT_EQ(panel_.table().model()->rowCount(), 16);
  key(Qt::Key_End);
  EXPECT_TRUE(cell(15, 15).endsWith("(all 16 ranks)")) << cell(15, 15).toStdString();
  EXPECT_FALSE(transit_);
}

TEST_F(StepperPanelTest, unsuitable_algorithm_is_not_offered) {
  auto* algorithms = panel_.findChild<QComboBox*>("algorithm");
  EXPECT_GE(algorithms->findText("sharded_hierarchical"), 0);
  topology::Topology uneven = tests::drawn_hosts(1, 2);
  uneven.hosts.push_back(tests::drawn_host("host1", 1, 2));
  uneven.links.push_back({"host0", "host1"});
  draw(uneven);
  EXPECT_EQ(algorithms->findText("sharded_hierarchical"), -1);
  EXPECT_EQ(algorithms->findText("auto"), -1);
}

TEST_F(StepperPanelTest, drawing_without_devices_has_a_hint) {
  draw({});
  EXPECT_TRUE(panel_.sentence().contains("0 ranks")) << panel_.sentence().toStdString();
  EXPECT_EQ(panel_.table().model()->rowCount(), 0);
  key(Qt::Key_Right);
  key(Qt::Key_Space);
  EXPECT_FALSE(panel_.playing());
}

TEST_F(StepperPanelTest, one_rank_has_nothing_to_send) {
  draw(tests::drawn_hosts(1, 1));
  EXPECT_THAT(panel_.place(), test::HasAll("No steps"));
  EXPECT_THAT(panel_.sentence(), test::HasAll("Done"));
}

TEST_F(StepperPanelTest, other_collectives_begin_with_their_inputs) {
  choose("collective", "broadcast");
  panel_.findChild<QSpinBox*>("root")->setValue(1);
  EXPECT_EQ(cell(0, 0), "empty");
  EXPECT_NE(cell(1, 0), "empty");
  EXPECT_TRUE(panel_.findChild<QSpinBox*>("root")->isVisible());
  key(Qt::Key_End);
  EXPECT_EQ(cell(0, 0), cell(1, 0));
  choose("collective", "scatter");
  EXPECT_TRUE(panel_.foot().contains("S - c")) << panel_.foot().toStdString();
}

TEST_F(StepperPanelTest, partial_sums_are_shaded_and_changed_values_framed) {
  const auto color = [&](int rank, int chunk) {
    const QRect cell = panel_.table().visualRect(panel_.table().model()->index(rank, chunk));
    return panel_.table().viewport()->grab(cell).toImage().pixelColor(cell.width() / 2,
                                                                      cell.height() - 8);
  };
  const auto frame = [&](int rank, int chunk) {
    const QRect cell = panel_.table().visualRect(panel_.table().model()->index(rank, chunk));
    EXPECT_TRUE(panel_.table().viewport()->rect().contains(cell))
        << "rank " << rank << ", chunk " << chunk << " is in sight";
    return panel_.table().viewport()->grab(cell).toImage().pixelColor(2, cell.height() / 2);
  };
  key(Qt::Key_PageDown);
  EXPECT_NE(color(2, 0), color(0, 0)) << "contributions of two of three ranks and of one";
  EXPECT_EQ(frame(2, 0), Theme::instance().colors().accent);
  EXPECT_NE(frame(0, 1), Theme::instance().colors().accent) << "changed by an earlier step";
}

TEST_F(StepperPanelTest, is_readable_in_both_themes_and_large_text) {
  for (const auto kind : {Theme::Kind::light, Theme::Kind::dark})
    for (const double scale : {1.0, 2.0}) {
      Theme::instance().apply(kind, scale);
      key(Qt::Key_End);
      const QRect cell = panel_.table().visualRect(panel_.table().model()->index(0, 0));
      EXPECT_GE(test::text_contrast(
                    panel_.table().viewport()->grab(cell.adjusted(10, 10, -10, -10)).toImage()),
                test::kReadable);
      const QFontMetrics letters(Theme::instance().font(1.25, true));
      EXPECT_GE(cell.height(), 2 * letters.height() * 0.85) << "value and ranks are not truncated";
    }
}

}  // namespace
}  // namespace trainyard::ui
