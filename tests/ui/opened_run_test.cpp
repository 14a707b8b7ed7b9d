// SPDX-License-Identifier: GPL-3.0-or-later
// A run that is opened from its directory, with another document on the canvas.
#include "tests/ui/opened_run.h"

#include <QPushButton>

#include "tests/ui/has_all.h"

namespace trainyard::ui {
namespace {

using test::OpenedRun;

TEST_F(OpenedRun, different_experiment_with_equal_names_is_reported_and_offered) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  change();
  const experiment::Experiment mine = document();
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_mnist.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().offers().isVisible(); }))
      << "digits on the canvas, beside charts of MNIST";
  EXPECT_THAT(window_->center().offers().text(), test::HasAll("different experiment"));
  EXPECT_TRUE(window_->center().offers().in_one_line());
  EXPECT_EQ(document(), mine) << "unsaved changes are kept";
  EXPECT_TRUE(window_->isWindowModified());
  auto* show = window_->center().offers().findChild<QPushButton*>();
  ASSERT_EQ(show->text(), "Show its experiment");
  save_answer_ = SaveAnswer::discard;
  show->click();
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(document().data.kind, data::DataKind::idx);
  EXPECT_EQ(document().training, mnist_.training) << "the given, not the resolved, experiment";
  EXPECT_TRUE(window_->center().offers().isHidden());
}

TEST_F(OpenedRun, drawn_experiment_at_other_positions_shows_no_message) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  window_->document().edit("Move",
                           [](experiment::Experiment& moved) { moved.topology.hosts[0].x += 96; });
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_digits.json")));
  wait_for_poll();
  EXPECT_TRUE(window_->center().offers().isHidden())
      << window_->center().offers().text().toStdString();
  EXPECT_EQ(document().topology.hosts[0].x, 96);
}

TEST_F(OpenedRun, replaces_the_experiment_of_the_previous_run) {
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_digits.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] {
    return document().data.kind == data::DataKind::digits && document().topology.hosts.size() == 1;
  }));
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_mnist.json")));
  EXPECT_TRUE(QTest::qWaitFor([&] { return document().data.kind == data::DataKind::idx; }))
      << "there are no unsaved changes";
  EXPECT_TRUE(window_->center().offers().isHidden());
  EXPECT_EQ(asked_, 0);
}

TEST_F(OpenedRun, offer_disappears_with_another_run_or_the_matching_document) {
  file_ = directory_.filePath("mine.json");
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")) &&
              window_->files().save_as());
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_mnist.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().offers().isVisible(); }));
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_digits.json")));
  wait_for_poll();
  EXPECT_TRUE(window_->center().offers().isHidden()) << "the run matches the drawing";
  ASSERT_TRUE(open_whole(run_of("four_hosts_ring_digits.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().offers().isVisible(); }));
  ASSERT_TRUE(window_->open(example("four_hosts_ring_digits.json")));
  EXPECT_TRUE(window_->center().offers().isHidden());
}

TEST_F(OpenedRun, offer_remains_after_cancel) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  change();
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_mnist.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().offers().isVisible(); }));
  auto* show = window_->center().offers().findChild<QPushButton*>();
  show->click();
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(document().training.batch_per_rank, 77);
  EXPECT_TRUE(window_->center().offers().isVisible());
  save_answer_ = SaveAnswer::discard;
  show->click();
  EXPECT_EQ(document().data.kind, data::DataKind::idx);
  EXPECT_TRUE(window_->center().offers().isHidden());
}

TEST_F(OpenedRun, is_on_the_charts_if_checked_in_the_list) {
  const QString first = run_of("four_devices_mirrored_digits.json"),
                second = run_of("four_devices_mirrored_mnist.json");
  const QString third = run_of("four_hosts_ring_digits.json");
  const auto on_charts = [&] {
    QStringList directories;
    for (const auto* run : window_->runs().shown()) directories << run->directory();
    return directories;
  };
  RunsPanel& panel = window_->panels().runs;
  ASSERT_TRUE(open_whole(first));
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel.entries().size() == 3; }));
  EXPECT_EQ(on_charts(), QStringList(first));
  panel.set_ticked(second, true);
  EXPECT_EQ(panel.ticked(), QStringList({first, second}));
  EXPECT_EQ(on_charts(), panel.ticked());
  ASSERT_TRUE(open_whole(third));
  EXPECT_EQ(panel.ticked(), QStringList({third, second}));
  EXPECT_EQ(on_charts(), panel.ticked());
  panel.set_ticked(third, false);
  EXPECT_EQ(on_charts(), QStringList(second)) << "the run is not checked";
}

// The charts remain, and the drawing is not the one of the run.
TEST_F(OpenedRun, is_reported_as_different_when_another_document_is_opened) {
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_digits.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->document().has_devices(); }));
  wait_for_poll();
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_mnist.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().offers().isVisible(); }));
  EXPECT_THAT(window_->center().offers().text(), test::HasAll("different experiment"));
  EXPECT_EQ(document().data.kind, data::DataKind::idx) << "the requested document is open";
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  EXPECT_TRUE(window_->center().offers().isHidden());
  wait_for_poll();
  EXPECT_TRUE(window_->center().offers().isHidden()) << "the document is the one of the run";
}

}  // namespace
}  // namespace trainyard::ui
