// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_panel.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QLabel>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "tests/ui/charts/synthetic_run.h"
#include "tests/ui/has_all.h"
#include "tests/ui/patience.h"
#include "tests/ui/recorded_ops.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using test::kPatience;
using test::SyntheticRun;

// Ops of one rank in a step of 5 ms: compute from 0.1 to 0.7 of it, and a send from 0.5 to 0.9.
std::vector<telemetry::Event> ops_of(int step) {
  const std::int64_t at = step * 5'000'000LL;
  const auto op = [&](int number, std::int64_t begin, std::int64_t end) {
    return telemetry::Event{at + begin, at + begin,
                            at + end,   0,
                            step,       static_cast<std::uint16_t>(number),
                            0,          telemetry::EventKind::op};
  };
  return {op(test::kForward, 500'000, 2'000'000), op(test::kBackward, 2'000'000, 3'500'000),
          op(test::kSend, 2'500'000, 4'500'000)};
}

class TimelinePanelTest : public testing::Test {
 protected:
  TimelinePanelTest() {
    panel_.resize(1400, 400);
    panel_.show();
  }
  ~TimelinePanelTest() override { panel_.set_run(nullptr); }

  SyntheticRun synthetic(bool record_ops = true) const {
    return {.ranks = 2,
            .jitter = 0,
            .experiment = {{"document", {{"run", {{"record_ops", record_ops}}}}}}};
  }
  void record(const SyntheticRun& run, int steps, bool ops) {
    auto writer = run.create(directory_.path().toStdString());
    for (int rank = 0; rank < run.ranks; ++rank) {
      const std::string plan = test::planned(rank);
      ASSERT_TRUE(writer.append(telemetry::FrameType::plan, rank, std::as_bytes(std::span(plan))));
    }
    for (int step = 0; step < steps; ++step) {
      for (int rank = 0; ops && rank < run.ranks; ++rank)
        ASSERT_TRUE(writer.append_events(rank, ops_of(step)));
      ASSERT_TRUE(run.append(writer, step, step + 1));
    }
    ASSERT_TRUE(writer.close());
  }
  void open() {
    run_ = ui::Run::open({}, directory_.path());
    panel_.set_run(run_.get());
    ASSERT_TRUE(QTest::qWaitFor([&] { return run_->complete(); }, kPatience));
  }
  bool says(const QString& text) {
    return QTest::qWaitFor([&] { return panel_.figures().contains(text); }, kPatience);
  }
  bool warns(const QString& text) {
    return QTest::qWaitFor([&] { return panel_.badges().join(" ").contains(text); }, kPatience);
  }
  QString empty_text() { return panel_.view().empty_text(); }

  QTemporaryDir directory_;
  std::unique_ptr<ui::Run> run_;
  TimelinePanel panel_;
};

TEST_F(TimelinePanelTest, shows_a_hint_without_a_run) {
  EXPECT_TRUE(empty_text().contains("press Run"));
}

TEST_F(TimelinePanelTest, run_without_ops_has_a_hint_to_record_them) {
  record(synthetic(false), 5, false);
  open();
  EXPECT_TRUE(QTest::qWaitFor([&] { return empty_text().contains("run.record_ops"); }))
      << empty_text().toStdString();
  EXPECT_TRUE(panel_.badges().isEmpty());
}

TEST_F(TimelinePanelTest, run_with_missing_ops_is_reported) {
  record(synthetic(), 5, false);
  open();
  EXPECT_TRUE(QTest::qWaitFor([&] { return empty_text().contains("no ops"); }))
      << empty_text().toStdString();
}

TEST_F(TimelinePanelTest, shows_the_figures_of_the_selected_step) {
  record(synthetic(), 40, true);
  open();
  panel_.view().choose_step(7);
  ASSERT_TRUE(says("Step 7")) << panel_.figures().toStdString();
  EXPECT_TRUE(says("efficiency 60 %")) << "3 of 5 ms: " << panel_.figures().toStdString();
  EXPECT_TRUE(says("communication 40 %") && says("50 % of it overlapped"))
      << "2 of 5 ms, 1 of 2: " << panel_.figures().toStdString();
  panel_.view().choose_step({});
  EXPECT_TRUE(says("In view, steps 37 to 39")) << panel_.figures().toStdString();
}

TEST_F(TimelinePanelTest, figures_are_left_beside_their_explanation) {
  record(synthetic(), 40, true);
  open();
  panel_.resize(1300, 400);
  ASSERT_TRUE(says("efficiency"));
  QCoreApplication::processEvents();
  int labels = 0;
  for (const QLabel* label : panel_.findChildren<QLabel*>())
    if (label->accessibleName().endsWith("in view")) {
      ++labels;
      EXPECT_LT(label->mapTo(&panel_, QPoint()).x(), 60) << label->accessibleName().toStdString();
      EXPECT_GT(label->width(), 1200);
    }
  EXPECT_EQ(labels, 2);
}

TEST_F(TimelinePanelTest, shows_caveats_and_merged_ops_beside_the_figures) {
  record(synthetic(), 400, true);
  open();
  panel_.set_badges({"12 events were dropped"});
  ASSERT_TRUE(warns("12 events were dropped"));
  EXPECT_FALSE(panel_.badges().join(" ").contains("merged"));
  panel_.view().resize(300, 200);
  panel_.view().home();
  EXPECT_TRUE(warns("short ops are merged"));
  panel_.set_frozen(true);
  EXPECT_TRUE(warns("frozen"));
}

TEST_F(TimelinePanelTest, selected_op_is_described_and_requested_in_the_plan) {
  record(synthetic(), 5, true);
  open();
  QSignalSpy selections(&panel_, &TimelinePanel::op_selected);
  EXPECT_FALSE(panel_.plan_action().isEnabled());
  panel_.view().select(SpanAddress{1, 3, 0, 2});
  ASSERT_EQ(selections.size(), 1);
  EXPECT_EQ(selections[0], (QList<QVariant>{1, "train", "SEND.b0.t0.c0>r0", false}));
  EXPECT_THAT(panel_.selected_text(),
              test::HasAll("SEND.b0.t0.c0>r0: ", "rank 1", "send.g0", "step 2 (train)"));
  panel_.plan_action().trigger();
  ASSERT_EQ(selections.size(), 2);
  EXPECT_EQ(selections[1][3], true);
}

TEST_F(TimelinePanelTest, deleted_run_is_removed) {
  record(synthetic(), 5, true);
  open();
  ASSERT_TRUE(says("efficiency"));
  run_.reset();
  EXPECT_TRUE(QTest::qWaitFor([&] { return empty_text().contains("press Run"); }));
  EXPECT_TRUE(panel_.badges().isEmpty());
  EXPECT_EQ(panel_.figures(), "");
}

TEST_F(TimelinePanelTest, growing_recording_is_followed_until_released) {
  const SyntheticRun run = synthetic();
  auto writer = run.create(directory_.path().toStdString());
  const std::string plan = test::planned(0);
  ASSERT_TRUE(writer.append(telemetry::FrameType::plan, 0, std::as_bytes(std::span(plan))));
  const auto train = [&](int begin, int end) {
    for (int step = begin; step < end; ++step)
      ASSERT_TRUE(writer.append_events(0, ops_of(step)) && run.append(writer, step, step + 1));
  };
  train(0, 30);
  run_ = ui::Run::open({}, directory_.path());
  panel_.set_run(run_.get());
  const auto seen = [&](int step) { return panel_.view().view().end > step * 5'000'000LL; };
  ASSERT_TRUE(QTest::qWaitFor([&] { return seen(29); }, kPatience));
  const TimeRange before = panel_.view().view();
  panel_.view().pan(-0.1);
  EXPECT_FALSE(panel_.follow_action().isChecked());
  EXPECT_LT(panel_.view().view().begin, before.begin);
}

}  // namespace
}  // namespace trainyard::ui
