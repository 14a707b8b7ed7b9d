// SPDX-License-Identifier: GPL-3.0-or-later
// Typed text: accepted, refused, undone.
#include <QFile>
#include <QTemporaryDir>

#include "tests/ui/inspector/inspector_fixture.h"
#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {
namespace {

TEST_F(InspectorTest, typing_an_integer_is_one_undo_command) {
  FieldEditor* batch = inspector_.form("training").editor("batch_per_rank");
  type(batch, "256");
  EXPECT_EQ(now().training.batch_per_rank, 256);
  EXPECT_EQ(document_.undo_stack().count(), 1);
  document_.undo_stack().undo();
  EXPECT_EQ(now().training.batch_per_rank, 32);
  EXPECT_EQ(shown(batch), "32 samples");
}

TEST_F(InspectorTest, number_accepts_units_and_prefixes) {
  type(inspector_.form("strategy").editor("bucket_bytes"), "2.5 MB");
  EXPECT_EQ(now().strategy.bucket_bytes, 2'500'000);
}

TEST_F(InspectorTest, refused_value_is_shown_with_its_reason_until_the_focus_leaves) {
  FieldForm& training = inspector_.form("training");
  FieldEditor* batch = training.editor("batch_per_rank");
  type(batch, "0");
  EXPECT_EQ(now().training.batch_per_rank, 32) << "the document does not contain the value";
  EXPECT_EQ(shown(batch), "0");
  EXPECT_NE(training.problem_text("batch_per_rank"), "");
  document_.set_value("name", "changed elsewhere");
  EXPECT_EQ(shown(batch), "0") << "the typed text is kept";
  training.editor("epochs")->setFocus();
  EXPECT_EQ(shown(batch), "32 samples");
  EXPECT_EQ(training.problem_text("batch_per_rank"), "");
}

// The field keeps its position while content above it changes: the algorithms are not compared
// while there is a problem.
TEST_F(InspectorTest, focused_field_keeps_its_position_during_typing) {
  FieldEditor* batch = inspector_.form("training").editor("batch_per_rank");
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return inspector_.algorithms().table().isVisibleTo(&inspector_); }));
  const auto at = [&] { return batch->mapTo(&inspector_, QPoint()).y(); };
  inspector_.go_to("training.batch_per_rank");
  ASSERT_TRUE(QTest::qWaitFor([&] { return at() < inspector_.height(); }))
      << "the field is visible";
  // Position once several layouts in sequence have not changed it.
  const auto settled = [&] {
    int position = at();
    for (int equal = 0; equal < 5;) {
      QTest::qWait(50);
      equal = at() == position ? equal + 1 : 0;
      position = at();
    }
    return position;
  };
  const int before = settled();
  type(batch, "0");
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return !inspector_.algorithms().table().isVisibleTo(&inspector_); }));
  EXPECT_EQ(settled(), before);
  type(batch, "64");
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return inspector_.algorithms().table().isVisibleTo(&inspector_); }));
  EXPECT_EQ(settled(), before);
}

TEST_F(InspectorTest, refused_value_is_replaced_when_the_focus_leaves) {
  FieldForm& training = inspector_.form("training");
  type(training.editor("batch_per_rank"), "0");
  training.editor("epochs")->setFocus();
  EXPECT_EQ(shown(training.editor("batch_per_rank")), "32 samples");
  EXPECT_EQ(training.problem_text("batch_per_rank"), "");
}

TEST_F(InspectorTest, refused_value_is_replaced_on_escape) {
  FieldForm& training = inspector_.form("training");
  FieldEditor* batch = training.editor("batch_per_rank");
  type(batch, "0");
  ASSERT_TRUE(document_.refused());
  QTest::keyClick(batch->focusProxy(), Qt::Key_Escape);
  EXPECT_EQ(shown(batch), "32 samples");
  EXPECT_EQ(training.problem_text("batch_per_rank"), "");
  EXPECT_FALSE(document_.refused());
  EXPECT_TRUE(batch->focusProxy()->hasFocus());
  type(batch, "64");
  QTest::keyClick(batch->focusProxy(), Qt::Key_Escape);
  EXPECT_EQ(document_.experiment().training.batch_per_rank, 64)
      << "the accepted value can be undone";
}

TEST_F(InspectorTest, undo_of_a_field_replaces_a_refused_text) {
  FieldForm& training = inspector_.form("training");
  FieldEditor* batch = training.editor("batch_per_rank");
  type(batch, "64");
  QTest::keyClicks(batch->focusProxy(), "x");
  ASSERT_TRUE(training.problem_text("batch_per_rank").contains("whole number"));
  document_.undo_stack().undo();
  EXPECT_EQ(shown(batch), "32 samples");
  EXPECT_EQ(training.problem_text("batch_per_rank"), "");
  type(inspector_.layers().editor(0, "units"), "64");
  QTest::keyClicks(inspector_.layers().editor(0, "units")->focusProxy(), "x");
  ASSERT_NE(inspector_.layers().problem_text(0), "");
  document_.undo_stack().undo();
  EXPECT_EQ(shown(inspector_.layers().editor(0, "units")), "128 units");
  EXPECT_EQ(inspector_.layers().problem_text(0), "");
}

TEST_F(InspectorTest, refused_value_of_a_device_remains_visible) {
  selection_.set({{"cpu0"}, {}});
  FieldEditor* cores = inspector_.item_form().editor("cores");
  type(cores, "0");
  EXPECT_EQ(shown(cores), "0");
  EXPECT_NE(inspector_.item_form().problem_text("cores"), "");
  inspector_.item_form().editor("name")->setFocus();
  EXPECT_EQ(shown(cores), "1 core");
}

TEST_F(InspectorTest, refused_text_is_a_document_problem_that_prevents_saving) {
  QTemporaryDir directory;
  const QString file = directory.filePath("mine.json");
  FieldEditor* batch = inspector_.form("training").editor("batch_per_rank");
  wait_for_problems(0);
  type(batch, "0");
  ASSERT_EQ(document_.problems().size(), 1u);
  EXPECT_EQ(document_.problems()[0].where, "training.batch_per_rank");
  const auto saved = document_.save(file);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error(), document_.problems()[0]);
  EXPECT_FALSE(QFile::exists(file));
  EXPECT_EQ(shown(batch), "0") << "the text is kept";
  type(batch, "16");
  EXPECT_TRUE(document_.problems().empty());
  EXPECT_TRUE(document_.save(file));
}

TEST_F(InspectorTest, refused_text_of_any_field_is_a_problem_until_the_focus_leaves) {
  const auto refused_at = [&](FieldEditor* editor, const QString& text) {
    type(editor, text);
    const std::string where = document_.refused() ? document_.refused()->where : "";
    inspector_.setFocus();  // leaves it
    EXPECT_FALSE(document_.refused()) << where;
    return where;
  };
  FieldForm& training = inspector_.form("training");
  EXPECT_EQ(refused_at(training.editor("batch_per_rank"), "many"), "training.batch_per_rank");
  EXPECT_EQ(refused_at(training.editor("optimizer.learning_rate"), "-1"),
            "training.optimizer.learning_rate");
  EXPECT_EQ(refused_at(inspector_.layers().editor(0, "units"), "x"), "model.layers[0]");
  selection_.set({{"cpu1"}, {}});
  EXPECT_EQ(refused_at(inspector_.item_form().editor("cores"), "0"),
            "topology.hosts[0].devices[1].cores");
}

TEST_F(InspectorTest, refused_text_remains_while_a_menu_or_another_window_has_the_focus) {
  FieldEditor* batch = inspector_.form("training").editor("batch_per_rank");
  type(batch, "0");
  for (const auto reason :
       {Qt::PopupFocusReason, Qt::MenuBarFocusReason, Qt::ActiveWindowFocusReason}) {
    QFocusEvent away(QEvent::FocusOut, reason);
    QApplication::sendEvent(batch->focusProxy(), &away);
    EXPECT_TRUE(document_.refused());
    EXPECT_EQ(shown(batch), "0");
  }
}

TEST_F(InspectorTest, undo_removes_a_refused_text_from_the_problems) {
  FieldEditor* batch = inspector_.form("training").editor("batch_per_rank");
  type(batch, "64");
  QTest::keyClicks(batch->focusProxy(), "x");
  ASSERT_TRUE(document_.refused());
  document_.undo_stack().undo();
  EXPECT_FALSE(document_.refused());
  EXPECT_EQ(inspector_.form("training").problem_text("batch_per_rank"), "");
}

TEST_F(InspectorTest, refused_text_is_removed_with_its_document) {
  const auto expect_gone = [&](FieldEditor* editor, const QString& text) {
    const QString before = shown(editor);
    type(editor, text);
    ASSERT_TRUE(document_.refused());
    document_.reset(sample());
    EXPECT_FALSE(document_.refused()) << text.toStdString();
    EXPECT_EQ(shown(editor), before);
  };
  FieldForm& training = inspector_.form("training");
  expect_gone(training.editor("batch_per_rank"), "many");
  EXPECT_EQ(training.problem_text("batch_per_rank"), "");
  expect_gone(training.editor("optimizer.learning_rate"), "-1");
  expect_gone(inspector_.layers().editor(0, "units"), "x");
  EXPECT_EQ(inspector_.layers().problem_text(0), "");
  selection_.set({{"cpu1"}, {}});
  expect_gone(inspector_.item_form().editor("cores"), "0");
  EXPECT_EQ(inspector_.item_form().problem_text("cores"), "");
}

TEST_F(InspectorTest, zero_steps_mean_no_limit) {
  FieldForm& training = inspector_.form("training");
  EXPECT_EQ(shown(training.editor("steps")), "unlimited");
  EXPECT_TRUE(training.editor("steps")->toolTip().contains("Default: unlimited"));
}

TEST_F(InspectorTest, counts_are_grouped_and_accept_commas) {
  FieldEditor* samples = inspector_.form("data").editor("train_samples");
  EXPECT_TRUE(samples->toolTip().contains("Default: 8,000 samples"));
  EXPECT_EQ(shown(samples), "8,000 samples");
  for (const char* text : {"12000", "12,000", "12000 samples"}) {
    type(samples, text);
    EXPECT_EQ(now().data.train_samples, 12'000) << text;
    inspector_.setFocus();  // leaves it
    EXPECT_EQ(shown(samples), "12,000 samples") << text;
  }
}

TEST_F(InspectorTest, digit_can_be_inserted_into_a_grouped_number) {
  FieldEditor* samples = inspector_.form("data").editor("train_samples");
  samples->focusProxy()->setFocus();
  samples->findChild<QLineEdit*>()->setCursorPosition(5);  // behind the digits
  for (const std::int64_t left : {800, 80}) {
    QTest::keyClick(samples->focusProxy(), Qt::Key_Backspace);
    EXPECT_EQ(now().data.train_samples, left);
  }
  QTest::keyClicks(samples->focusProxy(), "5");
  EXPECT_EQ(now().data.train_samples, 805);
  EXPECT_EQ(shown(samples), "8,05 samples") << "text and cursor are kept during typing";
  inspector_.setFocus();
  EXPECT_EQ(shown(samples), "805 samples");
}

TEST_F(InspectorTest, text_that_is_not_a_number_is_reported) {
  FieldForm& training = inspector_.form("training");
  type(training.editor("batch_per_rank"), "many");
  EXPECT_TRUE(training.problem_text("batch_per_rank").contains("whole number"));
  EXPECT_EQ(document_.undo_stack().count(), 0);
}

TEST_F(InspectorTest, focus_is_kept_while_other_fields_change) {
  FieldEditor* batch = inspector_.form("training").editor("batch_per_rank");
  type(batch, "6");
  document_.edit("add", [](experiment::Experiment& e) {
    add_device(e.topology, "host0", default_device(topology::DeviceKind::gpu));
  });
  EXPECT_TRUE(batch->focusProxy()->hasFocus());
  QTest::keyClicks(batch->focusProxy(), "4");
  EXPECT_EQ(now().training.batch_per_rank, 64);
}

TEST_F(InspectorTest, duplicate_name_is_refused_at_the_field) {
  selection_.set({{"cpu0"}, {}});
  type(inspector_.item_form().editor("name"), "cpu1");
  EXPECT_NE(inspector_.item_form().problem_text("name"), "");
}

}  // namespace
}  // namespace trainyard::ui
