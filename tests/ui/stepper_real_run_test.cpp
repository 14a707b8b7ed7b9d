// SPDX-License-Identifier: GPL-3.0-or-later
// Real runs, stepped through with the numbers that their ranks had: each step that was kept ends
// with the bits of the run.
#include <QComboBox>
#include <QTest>

#include "tests/ui/real_window.h"

namespace trainyard::ui::test {
namespace {

class StepperOfRealRun : public RealWindow {
 protected:
  StepperPanel& panel() { return window_->panels().stepper; }
  QComboBox* combo(const char* field) { return panel().findChild<QComboBox*>(field); }
  void choose(const char* field, int index) {
    combo(field)->setCurrentIndex(index);
    emit combo(field)->activated(index);
  }
  void run_few_steps(const char* example, const char* strategy = nullptr) {
    ASSERT_TRUE(window_->open(QString(TRAINYARD_SOURCE_DIR) + "/resources/experiments/" + example));
    if (strategy) window_->document().set_value("strategy.kind", strategy);
    window_->document().set_value("training.steps", 5);
    window_->start_run();
    ASSERT_TRUE(wait([&] {
      return window_->runs().current() && !window_->runs().live() &&
             window_->runs().current()->complete();
    }));
    update_run();
  }
  void update_run() {
    window_->workspace().raise("stepper");
    const auto offered = [&] {
      return combo("ranks")->findData(static_cast<int>(ExerciseBar::Ranks::run));
    };
    ASSERT_TRUE(wait([&] { return offered() >= 0; }));
    choose("ranks", offered());
  }
  // Checks the last number of each chunk, for every bucket and every recorded step.
  void expect_the_bits_of_the_run(int least_buckets) {
    EXPECT_GE(combo("bucket")->count(), least_buckets);
    for (int bucket = 0; bucket < combo("bucket")->count(); ++bucket) {
      choose("bucket", bucket);
      SCOPED_TRACE(combo("bucket")->currentText().toStdString());
      const bool before_steps = combo("bucket")->currentText().contains("before the first step");
      ASSERT_EQ(combo("values_step")->count(), before_steps ? 2 : 5)
          << "steps 0, 1, 2 and 4, and an example";
      for (int step = 0; step < combo("values_step")->count() - 1; ++step) {
        choose("values_step", step);
        choose("values_element", combo("values_element")->count() - 1);
        EXPECT_TRUE(panel().foot().contains("Recorded values")) << panel().foot().toStdString();
        panel().stepper().go_to_end();
        EXPECT_TRUE(panel().sentence().endsWith("bitwise equal to the run."))
            << panel().sentence().toStdString();
      }
    }
  }
};

TEST_F(StepperOfRealRun, ends_with_the_bits_of_the_run_also_when_it_is_opened_again) {
  run_few_steps("four_devices_mirrored_digits.json");
  expect_the_bits_of_the_run(2);
  const QString directory = window_->runs().current()->directory();
  window_ = make_window();
  ASSERT_TRUE(window_->open(directory));
  update_run();
  expect_the_bits_of_the_run(2);
}

TEST_F(StepperOfRealRun, sums_on_a_storage_and_what_it_sends_back_are_stepped_through_too) {
  run_few_steps("central_storage_digits.json");
  EXPECT_TRUE(combo("bucket")->itemText(0).startsWith("REDUCE.b0>r"))
      << combo("bucket")->itemText(0).toStdString();
  expect_the_bits_of_the_run(4);
}

TEST_F(StepperOfRealRun, parameters_that_come_before_the_first_step_are_those_of_rank_0) {
  run_few_steps("four_devices_mirrored_digits.json", "ddp");
  const int last = combo("bucket")->count() - 1;
  EXPECT_TRUE(
      combo("bucket")->itemText(last).startsWith("BCAST.b0<r0 params, before the first step"))
      << combo("bucket")->itemText(last).toStdString();
  expect_the_bits_of_the_run(3);
  EXPECT_TRUE(panel().foot().contains("before the first training step"))
      << panel().foot().toStdString();
}

TEST_F(StepperOfRealRun,
       sums_over_columns_and_gradients_of_rows_are_stepped_through_in_whole_rows) {
  run_few_steps("four_devices_vertical_digits.json");
  for (const char* token : {"RS.", "AG."})
    EXPECT_GE(combo("bucket")->findText(token, Qt::MatchStartsWith), 0) << token;
  expect_the_bits_of_the_run(4);
}

}  // namespace
}  // namespace trainyard::ui::test
