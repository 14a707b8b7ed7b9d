// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/plan_panel.h"

#include <gtest/gtest.h>

#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QTest>

namespace trainyard::ui {
namespace {

class PlanPanelTest : public testing::Test {
 protected:
  PlanPanelTest() {
    experiment::Experiment experiment;
    topology::Host host{.name = "host0", .address = {}, .devices = {}};
    for (const char* name : {"cpu0", "cpu1"}) host.devices.push_back({.name = name});
    experiment.topology.hosts.push_back(host);
    document_.reset(experiment);
    panel_.resize(800, 400);
    panel_.show();
    EXPECT_TRUE(shows("AR.b0"));
  }
  bool shows(const QString& text) {
    return QTest::qWaitFor([&] { return panel_.view().toPlainText().contains(text); });
  }
  Document document_;
  PlanPanel panel_{document_};
};

TEST_F(PlanPanelTest, shows_the_grid_first_and_the_text_of_a_rank_on_request) {
  panel_.set_grid(false);
  EXPECT_TRUE(shows("rank 0"));
  panel_.set_rank(1);
  EXPECT_TRUE(shows("rank 1"));
}

TEST_F(PlanPanelTest, expanded_plan_shows_the_sends_of_its_chunks) {
  EXPECT_FALSE(panel_.view().toPlainText().contains("SEND."));
  panel_.set_expanded(true);
  EXPECT_TRUE(shows("SEND.b0.t0"));
}

TEST_F(PlanPanelTest, follows_the_document) {
  document_.set_value("strategy.kind", "one_device");
  EXPECT_TRUE(shows("No plan yet")) << "one device, but two are drawn";
  document_.undo_stack().undo();
  EXPECT_TRUE(shows("AR.b0"));
}

TEST_F(PlanPanelTest, click_on_an_op_marks_all_its_occurrences) {
  panel_.set_grid(false);
  ASSERT_TRUE(shows("program train"));
  panel_.view().setFocus();
  QTextCursor cursor = panel_.view().document()->find("F.s0.m0");
  cursor.setPosition(cursor.selectionStart() + 2);
  QTest::mouseClick(panel_.view().viewport(), Qt::LeftButton, {},
                    panel_.view().cursorRect(cursor).center());
  panel_.view().setTextCursor(cursor);
  EXPECT_EQ(panel_.marked(), "F.s0.m0");
  EXPECT_FALSE(panel_.view().extraSelections().isEmpty());
}

TEST_F(PlanPanelTest, navigates_to_the_line_of_an_op_in_the_expanded_text) {
  panel_.show_op(1, "train", "SEND.b0.t0.c0>r0");
  ASSERT_TRUE(QTest::qWaitFor([&] {
    return panel_.view().textCursor().selectedText().startsWith("SEND.b0.t0.c0>r0 @send.g0");
  })) << panel_.view().toPlainText().toStdString();
  EXPECT_TRUE(panel_.view().toPlainText().startsWith("rank 1"));
  EXPECT_EQ(panel_.marked(), "SEND.b0.t0.c0>r0");
}

TEST_F(PlanPanelTest, navigates_immediately_to_another_op_of_the_same_text) {
  QSignalSpy settled(&panel_, &PlanPanel::settled);
  panel_.show_op(1, "train", "F.s0.m0");
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel_.marked() == "F.s0.m0"; }));
  settled.clear();
  panel_.show_op(1, "train", "SEND.b0.t0.c0>r0");
  EXPECT_EQ(panel_.marked(), "SEND.b0.t0.c0>r0");
  panel_.show_op(0, "train", "F.s0.m0");
  EXPECT_EQ(panel_.marked(), "SEND.b0.t0.c0>r0") << "another rank has another text";
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel_.marked() == "F.s0.m0"; }));
  EXPECT_TRUE(panel_.view().toPlainText().startsWith("rank 0"));
  EXPECT_EQ(settled.size(), 1) << "the text is generated once";
}

TEST_F(PlanPanelTest, navigates_to_the_op_of_the_executed_program) {
  panel_.show_op(0, "evaluate", "F.s0.m0");
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel_.view().textCursor().hasSelection(); }));
  const QString before =
      panel_.view().toPlainText().left(panel_.view().textCursor().selectionStart());
  EXPECT_TRUE(before.contains("program evaluate"));
}

TEST_F(PlanPanelTest, unknown_op_is_not_marked) {
  QSignalSpy settled(&panel_, &PlanPanel::settled);
  panel_.show_op(0, "train", "F.s99.m0");
  ASSERT_TRUE(QTest::qWaitFor([&] { return settled.size() > 0; }));
  EXPECT_EQ(panel_.marked(), "");
  EXPECT_FALSE(panel_.view().textCursor().hasSelection());
}

TEST_F(PlanPanelTest, op_requested_while_hidden_is_shown_later) {
  panel_.hide();
  panel_.show_op(1, "train", "F.s0.m0");
  panel_.show();
  EXPECT_TRUE(QTest::qWaitFor(
      [&] { return panel_.view().textCursor().selectedText().startsWith("F.s0.m0 @compute"); }));
  EXPECT_TRUE(panel_.view().toPlainText().startsWith("rank 1"));
}

}  // namespace
}  // namespace trainyard::ui
