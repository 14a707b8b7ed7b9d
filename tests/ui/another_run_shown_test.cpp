// SPDX-License-Identifier: GPL-3.0-or-later
// A run that trains while an old one is opened and looked at: it is watched, listed, steered and
// asked about all the same.
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QStatusBar>

#include "core/base/json.h"
#include "tests/ui/opened_run.h"
#include "tests/ui/real_window.h"
#include "tests/ui/runs_list.h"

namespace trainyard::ui::test {
namespace {

class AnotherRunShown : public OpenedRun {
 protected:
  AnotherRunShown() {
    EXPECT_TRUE(open_live(live_));
    name_ = window_->runs().current()->name();
    EXPECT_TRUE(open_whole(old_));
    EXPECT_TRUE(wait([&] { return document().data.kind == data::DataKind::idx; }))
        << "its drawing comes too";
    window_->workspace().raise("runs");
    EXPECT_TRUE(
        wait([&] { return line_of(panel(), old_) && state_of(panel(), live_) == "running"; }));
  }
  static bool wait(const std::function<bool()>& condition) {
    return QTest::qWaitFor(condition, 60'000);
  }
  RunsPanel& panel() { return window_->panels().runs; }
  const QString live_ = live_run_of("four_devices_mirrored_digits.json"),
                old_ = run_of("four_devices_mirrored_mnist.json");
  QString name_;  // of the live one
};

TEST_F(AnotherRunShown, the_live_one_goes_on_and_comes_back_where_it_is) {
  ASSERT_EQ(window_->runs().live_runs().size(), 1u);
  const ui::Run* live = window_->runs().live_runs().front();
  ASSERT_TRUE(train_on(20, 40));
  ASSERT_TRUE(wait([&] { return live->history().train_loss().size() == 40; }));
  EXPECT_EQ(losses(), 20u) << "of the one that was opened";

  emit panel().findChild<QTreeWidget*>()->itemDoubleClicked(line_of(panel(), live_), 0);
  EXPECT_EQ(window_->runs().current(), live) << "it was never let go of";
  EXPECT_TRUE(wait([&] { return losses() == 40; }));
  ASSERT_TRUE(train_on(40, 45));
  EXPECT_TRUE(wait([&] { return losses() == 45; })) << "and its chart goes on";
  EXPECT_TRUE(wait([&] {
    return document().data.kind == data::DataKind::digits &&
           window_->center().canvas().topology_scene().live();
  }));
}

TEST_F(AnotherRunShown, closing_asks_about_the_live_one) {
  EXPECT_FALSE(window_->close());
  EXPECT_EQ(asked_about_, QStringList(name_));
  EXPECT_TRUE(window_->isVisible());
}

TEST_F(AnotherRunShown, what_steers_is_of_the_live_one_and_so_is_the_line_that_tells_how_it_goes) {
  EXPECT_FALSE(window_->controls().run_action().isEnabled()) << "or two would train at once";
  EXPECT_TRUE(wait([&] {
    return window_->controls().stop_action().isEnabled() &&
           window_->controls().pause_action().isEnabled();
  }));
  const auto* bar = window_->findChild<RunStateBar*>();
  EXPECT_TRUE(wait([&] { return bar->state_text().startsWith("Running"); }))
      << bar->state_text().toStdString();
  QStringList told;
  for (const QLabel* label : bar->findChildren<QLabel*>()) told << label->text();
  EXPECT_TRUE(told.contains(name_)) << told.join(" | ").toStdString();
}

TEST_F(AnotherRunShown, the_live_one_cannot_be_trashed) {
  EXPECT_EQ(may_be_trashed(panel(), live_), std::optional(false));
  EXPECT_EQ(may_be_trashed(panel(), old_), std::optional(true));
  bool asked = false;
  QTimer::singleShot(0, window_.get(), [&asked] {
    if (QWidget* box = QApplication::activeModalWidget()) asked = box->close();
  });
  panel().ask_delete(live_);
  QCoreApplication::processEvents();
  EXPECT_FALSE(asked) << "wherever it is asked for";
}

TEST_F(AnotherRunShown, the_end_of_the_live_one_is_seen) {
  ASSERT_TRUE(end_live("completed"));
  ASSERT_TRUE(wait([&] { return !window_->runs().live(); }));
  EXPECT_EQ(window_->statusBar()->currentMessage(), name_ + " has ended");
  EXPECT_TRUE(window_->controls().run_action().isEnabled());
  EXPECT_TRUE(wait([&] { return state_of(panel(), live_) == "completed"; }));
  EXPECT_EQ(window_->runs().current()->directory(), old_)
      << "one goes on looking at what one looks at";
  EXPECT_TRUE(window_->findChild<RunStateBar*>()->state_text().startsWith("completed"));
  EXPECT_EQ(may_be_trashed(panel(), live_), std::optional(true));
  EXPECT_TRUE(window_->close());
  EXPECT_TRUE(asked_about_.isEmpty());
}

TEST_F(AnotherRunShown, a_failure_of_the_live_one_is_told_by_name_and_leads_to_its_log) {
  const base::Json problem{
      {"code", "failed"}, {"where", "rank 2"}, {"what", "It died."}, {"advice", "Run again"}};
  ASSERT_TRUE(end_live("failed", {{"problem", problem}}));
  ASSERT_TRUE(wait([&] {
    return window_->center().errors().isVisible() &&
           window_->center().errors().text().contains("It died.");
  }));
  EXPECT_TRUE(window_->center().errors().text().startsWith(name_ + " failed"))
      << window_->center().errors().text().toStdString();
  window_->center().errors().findChild<QPushButton*>()->click();
  EXPECT_EQ(window_->runs().current()->directory(), live_);
  EXPECT_TRUE(wait([&] { return !window_->panels().log.visibleRegion().isEmpty(); }));
}

class AnotherRealRunShown : public RealWindow {
 protected:
  // The directory of a run that was started by Run.
  QString run(int steps) {
    const ui::Run* before = window_->runs().current();
    window_->document().set_value("training.steps", steps);
    press(window_->controls().run_action());
    EXPECT_TRUE(wait([&] { return window_->runs().current() != before; }));
    return window_->runs().current()->directory();
  }
};

TEST_F(AnotherRealRunShown, is_no_way_to_lose_the_one_that_trains) {
  ASSERT_TRUE(window_->open(TRAINYARD_SOURCE_DIR
                            "/resources/experiments/four_devices_mirrored_digits.json"));
  const QString over = run(10);
  ASSERT_TRUE(wait(
      [&] { return !window_->runs().live() && window_->controls().run_action().isEnabled(); }));
  const QString training = run(100'000);
  ASSERT_TRUE(wait([&] { return state() == session::RunState::running; }));
  ASSERT_TRUE(window_->open(over));
  ASSERT_TRUE(wait([&] {
    return window_->runs().current()->directory() == over && window_->runs().current()->complete();
  }));
  EXPECT_FALSE(window_->close());
  EXPECT_EQ(asked_, 1);
  EXPECT_TRUE(window_->isVisible() && window_->runs().live());
  closing_ = LiveRunAnswer::stop;
  EXPECT_FALSE(window_->close()) << "not before it has ended";
  ASSERT_TRUE(wait([&] { return !window_->isVisible(); }));
  EXPECT_FALSE(window_->runs().live());
  EXPECT_TRUE(wait([&] { return read_run(training).state == "stopped"; }))
      << "that one, and in order";
}

}  // namespace
}  // namespace trainyard::ui::test
