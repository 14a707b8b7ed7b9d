// SPDX-License-Identifier: GPL-3.0-or-later
// A run that is opened from its directory, beside what is drawn.
#include "tests/ui/opened_run.h"

#include <QPushButton>

namespace trainyard::ui {
namespace {

using test::OpenedRun;

TEST_F(OpenedRun,
       of_another_experiment_on_a_drawing_of_the_same_names_is_said_to_be_and_offers_it) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  change();
  const experiment::Experiment mine = document();
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_mnist.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().offers().isVisible(); }))
      << "digits on the canvas, beside charts of MNIST";
  EXPECT_TRUE(
      window_->center().offers().text().startsWith("This run trained a different experiment"))
      << window_->center().offers().text().toStdString();
  EXPECT_TRUE(window_->center().offers().in_one_line());
  EXPECT_EQ(document(), mine) << "unsaved work stays";
  EXPECT_TRUE(window_->isWindowModified());
  auto* show = window_->center().offers().findChild<QPushButton*>();
  ASSERT_EQ(show->text(), "Show its experiment");
  save_answer_ = SaveAnswer::discard;
  show->click();
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(document().data.kind, data::DataKind::idx);
  EXPECT_EQ(document().training, mnist_.training) << "as it was given";
  EXPECT_TRUE(window_->center().offers().isHidden());
}

TEST_F(OpenedRun, of_what_is_on_the_canvas_says_nothing_wherever_its_parts_stand) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  window_->document().edit("Move",
                           [](experiment::Experiment& moved) { moved.topology.hosts[0].x += 96; });
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_digits.json")));
  after_a_look();
  EXPECT_TRUE(window_->center().offers().isHidden())
      << window_->center().offers().text().toStdString();
  EXPECT_EQ(document().topology.hosts[0].x, 96);
}

TEST_F(OpenedRun, takes_the_place_of_what_the_run_before_it_brought) {
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_digits.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] {
    return document().data.kind == data::DataKind::digits && document().topology.hosts.size() == 1;
  }));
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_mnist.json")));
  EXPECT_TRUE(QTest::qWaitFor([&] { return document().data.kind == data::DataKind::idx; }))
      << "nothing of it would be lost";
  EXPECT_TRUE(window_->center().offers().isHidden());
  EXPECT_EQ(asked_, 0);
}

TEST_F(OpenedRun, an_offer_goes_when_another_run_is_opened_or_the_document_is_its_own) {
  file_ = directory_.filePath("mine.json");
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")) &&
              window_->files().save_as());
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_mnist.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().offers().isVisible(); }));
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_digits.json")));
  after_a_look();
  EXPECT_TRUE(window_->center().offers().isHidden()) << "it is the run of what is drawn";
  ASSERT_TRUE(open_whole(run_of("four_hosts_ring_digits.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().offers().isVisible(); }));
  ASSERT_TRUE(window_->open(example("four_hosts_ring_digits.json")));
  EXPECT_TRUE(window_->center().offers().isHidden());
}

TEST_F(OpenedRun, is_still_offered_when_a_person_cancels) {
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

TEST_F(OpenedRun, is_on_the_charts_as_the_ticks_in_the_list_say) {
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
  EXPECT_EQ(on_charts(), QStringList(second))
      << "a run that is not ticked is not among the ticked runs";
}

// Its charts stay, and what is drawn now is none of theirs.
TEST_F(OpenedRun, is_said_to_be_of_another_experiment_when_another_document_is_opened_beside_it) {
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_digits.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->document().has_devices(); }));
  after_a_look();
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_mnist.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().offers().isVisible(); }));
  EXPECT_TRUE(
      window_->center().offers().text().startsWith("This run trained a different experiment"));
  EXPECT_EQ(document().data.kind, data::DataKind::idx) << "what was asked for is there";
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  EXPECT_TRUE(window_->center().offers().isHidden());
  after_a_look();
  EXPECT_TRUE(window_->center().offers().isHidden()) << "it is the run's own";
}

}  // namespace
}  // namespace trainyard::ui
