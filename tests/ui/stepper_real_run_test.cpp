// SPDX-License-Identifier: GPL-3.0-or-later
// The stepper with recorded values of real runs: each recorded step ends with a bit for bit
// result.
#include <QComboBox>
#include <QTest>

#include "tests/ui/has_all.h"
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
      const bool before_steps = combo("bucket")->currentText().contains("first step");
      ASSERT_EQ(combo("values_step")->count(), before_steps ? 2 : 5)
          << "steps 0, 1, 2 and 4, and an example";
      for (int step = 0; step < combo("values_step")->count() - 1; ++step) {
        choose("values_step", step);
        choose("values_element", combo("values_element")->count() - 1);
        EXPECT_TRUE(panel().foot().contains("Recorded values")) << panel().foot().toStdString();
        panel().stepper().go_to_end();
        EXPECT_THAT(panel().sentence(), HasAll("bit for bit"));
      }
    }
  }
};

TEST_F(StepperOfRealRun, matches_the_run_bitwise_also_after_reopening) {
  run_few_steps("four_devices_mirrored_digits.json");
  expect_the_bits_of_the_run(2);
  const QString directory = window_->runs().current()->directory();
  window_ = make_window();
  ASSERT_TRUE(window_->open(directory));
  update_run();
  expect_the_bits_of_the_run(2);
}

TEST_F(StepperOfRealRun, supports_reduce_and_broadcast_of_central_storage) {
  run_few_steps("central_storage_digits.json");
  EXPECT_TRUE(combo("bucket")->itemText(0).startsWith("REDUCE.b0>r"))
      << combo("bucket")->itemText(0).toStdString();
  expect_the_bits_of_the_run(4);
}

TEST_F(StepperOfRealRun, initial_parameters_are_those_of_rank_0) {
  run_few_steps("four_devices_mirrored_digits.json", "ddp");
  const int last = combo("bucket")->count() - 1;
  EXPECT_THAT(combo("bucket")->itemText(last), HasAll("BCAST.b0<r0 params", "first step"));
  expect_the_bits_of_the_run(3);
  EXPECT_THAT(panel().foot(), HasAll("first training step"));
}

TEST_F(StepperOfRealRun, supports_vertical_sharding_in_complete_rows) {
  run_few_steps("four_devices_vertical_digits.json");
  for (const char* token : {"RS.", "AG."})
    EXPECT_GE(combo("bucket")->findText(token, Qt::MatchStartsWith), 0) << token;
  expect_the_bits_of_the_run(4);
}

}  // namespace
}  // namespace trainyard::ui::test
