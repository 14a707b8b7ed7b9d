// SPDX-License-Identifier: GPL-3.0-or-later
// The stepper in the window: beside the drawing, and of a run that is looked at.
#include <QComboBox>
#include <QDockWidget>

#include "tests/ui/opened_run.h"

namespace trainyard::ui::test {
namespace {

class StepperWindow : public OpenedRun {
 protected:
  StepperPanel& panel() { return window_->stepper(); }
  const TransitItem* transit() { return window_->canvas().topology_scene().transit(); }
  QComboBox& ranks() { return *panel().findChild<QComboBox*>("ranks"); }
  void look() {
    window_->workspace().raise("stepper");
    EXPECT_TRUE(QTest::qWaitFor([&] { return !panel().visibleRegion().isEmpty(); }));
  }
  void key(int key) { QTest::keyClick(&panel().table(), static_cast<Qt::Key>(key)); }
};

TEST_F(StepperWindow, its_steps_are_on_the_canvas_until_another_panel_is_looked_at) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  look();
  EXPECT_FALSE(transit());
  key(Qt::Key_Right);
  ASSERT_TRUE(transit());
  EXPECT_TRUE(transit()->label().startsWith("chunk "));
  window_->workspace().raise("charts");
  EXPECT_TRUE(QTest::qWaitFor([&] { return !transit(); }));
  look();
  EXPECT_TRUE(QTest::qWaitFor([&] { return transit() != nullptr; }));
  window_->workspace().dock("stepper").hide();
  EXPECT_TRUE(QTest::qWaitFor([&] { return !transit(); }));
}

TEST_F(StepperWindow, offers_ranks_and_buckets_of_the_run_and_says_what_is_true_of_them) {
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_digits.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->document().has_devices(); })) << "its experiment comes with it";
  look();
  const auto offered = [&] { return ranks().findData(static_cast<int>(ExerciseBar::Ranks::run)); };
  ASSERT_TRUE(QTest::qWaitFor([&] { return offered() >= 0; }));
  ranks().setCurrentIndex(offered());
  emit ranks().activated(offered());
  auto& buckets = *panel().findChild<QComboBox*>("bucket");
  ASSERT_GE(buckets.count(), 2);
  buckets.setCurrentIndex(1);
  emit buckets.activated(1);
  const collective::Exercise& exercise = panel().stepper().steps().exercise;
  EXPECT_EQ(exercise.bucket, 1);
  EXPECT_EQ(exercise.members(), 4);
  EXPECT_GT(exercise.elements, 1000);
  EXPECT_TRUE(panel().foot().contains("The numbers are an example; bytes are those of bucket 1 of run ")) << panel().foot().toStdString();
  EXPECT_FALSE(panel().foot().contains("and not so"));
  key(Qt::Key_Right);
  EXPECT_TRUE(transit()) << "it was drawn so";
  auto& algorithms = *panel().findChild<QComboBox*>("algorithm");
  algorithms.setCurrentIndex(algorithms.findText("star"));
  emit algorithms.activated(algorithms.currentIndex());
  EXPECT_TRUE(panel().foot().contains("which the run reduced by ring and not so")) << panel().foot().toStdString();
}

TEST_F(StepperWindow, a_run_that_starts_has_the_canvas_for_itself) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  look();
  key(Qt::Key_Right);
  ASSERT_TRUE(transit());
  ASSERT_TRUE(open_live(live_run_of("four_devices_mirrored_digits.json")));
  EXPECT_TRUE(QTest::qWaitFor([&] { return !transit(); }));
}

}  // namespace
}  // namespace trainyard::ui::test
