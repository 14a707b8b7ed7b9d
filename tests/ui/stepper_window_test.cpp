// SPDX-License-Identifier: GPL-3.0-or-later
// The stepper in the window, beside the drawing and with a shown run.
#include <QComboBox>
#include <QDockWidget>

#include "core/base/json.h"
#include "core/run/meters/chunk_sampler.h"
#include "core/telemetry/recording_summary.h"
#include "tests/ui/has_all.h"
#include "tests/ui/opened_run.h"

namespace trainyard::ui::test {
namespace {

class StepperWindow : public OpenedRun {
 protected:
  StepperPanel& panel() { return window_->panels().stepper; }
  const TransitItem* transit() { return window_->center().canvas().topology_scene().transit(); }
  QComboBox& ranks() { return *panel().findChild<QComboBox*>("ranks"); }
  void look() {
    window_->workspace().raise("stepper");
    EXPECT_TRUE(QTest::qWaitFor([&] { return !panel().visibleRegion().isEmpty(); }));
  }
  void choose(const char* field, int index) {
    auto& combo = *panel().findChild<QComboBox*>(field);
    combo.setCurrentIndex(index);
    emit combo.activated(index);
  }
  QString cell(int rank, int chunk) {
    return panel().table().model()->index(rank, chunk).data().toString();
  }
  // Records the first bucket of gradients: rank r has `half` (r + 1) in each element, then the sum.
  void record_values(int step, float half = 0.5F) {
    const auto resolved = run_collectives(live_header_["experiment"]).value();
    const RunBucket& bucket = resolved.buckets.front();
    for (int rank = 0; rank < 4; ++rank) {
      telemetry::ChunkValues values{step,
                                    bucket.group,
                                    bucket.number,
                                    bucket.dtype,
                                    bucket.elements,
                                    run::sampled_places(resolved.exercise(bucket)),
                                    {},
                                    {}};
      for (std::size_t i = 0; i < values.places.size(); ++i) {
        const float before = half * static_cast<float>(rank + 1), after = 10 * half;
        for (const auto& [number, to] :
             {std::pair{before, &values.before}, std::pair{after, &values.after}}) {
          const auto bytes = std::as_bytes(std::span(&number, 1));
          to->insert(to->end(), bytes.begin(), bytes.end());
        }
      }
      std::vector<std::byte> payload;
      telemetry::append(values, payload);
      ASSERT_TRUE(live_run_->append(telemetry::FrameType::samples, rank, payload));
    }
    ASSERT_TRUE(live_run_->flush());
  }
  base::Json live_header_;
  void key(int key) { QTest::keyClick(&panel().table(), static_cast<Qt::Key>(key)); }
};

TEST_F(StepperWindow, steps_are_on_the_canvas_until_another_panel_is_shown) {
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

TEST_F(StepperWindow, offers_ranks_and_buckets_of_the_run_with_caveats) {
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_digits.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->document().has_devices(); }))
      << "the experiment of the run is shown";
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
  EXPECT_THAT(panel().foot(), test::HasAll("Example values", "bucket 1 "));
  EXPECT_FALSE(panel().foot().contains("The run used"));
  key(Qt::Key_Right);
  EXPECT_TRUE(transit()) << "the ranks are on the drawing";
  auto& algorithms = *panel().findChild<QComboBox*>("algorithm");
  algorithms.setCurrentIndex(algorithms.findText("star"));
  emit algorithms.activated(algorithms.currentIndex());
  EXPECT_THAT(panel().foot(), test::HasAll("The run used ring"));
}

TEST_F(StepperWindow, shows_values_of_a_live_run_and_compares_the_result) {
  const QString directory = live_run_of("four_devices_mirrored_digits.json");
  live_header_ = telemetry::read_summary(directory.toStdString())->header;
  ASSERT_TRUE(open_live(directory));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->document().has_devices(); }))
      << "the experiment of the run is shown";
  look();
  const auto offered = [&] { return ranks().findData(static_cast<int>(ExerciseBar::Ranks::run)); };
  ASSERT_TRUE(QTest::qWaitFor([&] { return offered() >= 0; }));
  choose("ranks", offered());
  EXPECT_THAT(panel().foot(), test::HasAll("no values"));
  record_values(0);
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel().stepper().has_recorded_values(); }));
  EXPECT_EQ(cell(2, 1), "1.5 (2)");
  key(Qt::Key_Right);
  ASSERT_TRUE(transit());
  EXPECT_TRUE(transit()->label().startsWith("chunk ")) << transit()->label().toStdString();
  key(Qt::Key_End);
  for (int rank = 0; rank < 4; ++rank)
    for (int chunk = 0; chunk < 4; ++chunk) {
      EXPECT_TRUE(cell(rank, chunk).startsWith("5 (")) << cell(rank, chunk).toStdString();
      EXPECT_THAT(cell(rank, chunk), test::HasAll("same as"));
    }
  EXPECT_THAT(panel().sentence(), test::HasAll("Done", "16 values", "bit for bit"));
  record_values(1);
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return panel().findChild<QComboBox*>("values_step")->count() == 3; }));
  EXPECT_EQ(panel().stepper().step(), panel().stepper().steps().count())
      << "new values do not change the step";
  window_->runs().current()->single_step();
  record_values(7, 0.25F);
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel().foot().contains("in step 7."); }))
      << panel().foot().toStdString();
  EXPECT_TRUE(cell(2, 1).startsWith("2.5 ("))
      << "the step is not visible: " << cell(2, 1).toStdString();
  record_values(8);
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return panel().findChild<QComboBox*>("values_step")->count() == 5; }));
  EXPECT_TRUE(panel().foot().contains("in step 7."))
      << "more than the step is visible: " << panel().foot().toStdString();
}

TEST_F(StepperWindow, starting_run_clears_steps_from_the_canvas) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  look();
  key(Qt::Key_Right);
  ASSERT_TRUE(transit());
  ASSERT_TRUE(open_live(live_run_of("four_devices_mirrored_digits.json")));
  EXPECT_TRUE(QTest::qWaitFor([&] { return !transit(); }));
}

}  // namespace
}  // namespace trainyard::ui::test
