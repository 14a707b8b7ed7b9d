// SPDX-License-Identifier: GPL-3.0-or-later
// A live run while another run is shown: it is still monitored, listed and controlled.
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

class OtherRunShown : public OpenedRun {
 protected:
  OtherRunShown() {
    EXPECT_TRUE(open_live(live_));
    name_ = window_->runs().current()->name();
    EXPECT_TRUE(open_whole(old_));
    EXPECT_TRUE(wait([&] { return document().data.kind == data::DataKind::idx; }))
        << "the drawing of the run is shown";
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
  QString name_;  // of the live run
};

TEST_F(OtherRunShown, live_run_continues_and_is_shown_again) {
  ASSERT_EQ(window_->runs().live_runs().size(), 1u);
  const ui::Run* live = window_->runs().live_runs().front();
  ASSERT_TRUE(train_on(20, 40));
  ASSERT_TRUE(wait([&] { return live->history().train_loss().size() == 40; }));
  EXPECT_EQ(losses(), 20u) << "points of the opened run";

  emit panel().findChild<QTreeWidget*>()->itemDoubleClicked(line_of(panel(), live_), 0);
  EXPECT_EQ(window_->runs().current(), live) << "the run was kept";
  EXPECT_TRUE(wait([&] { return losses() == 40; }));
  ASSERT_TRUE(train_on(40, 45));
  EXPECT_TRUE(wait([&] { return losses() == 45; })) << "its chart continues";
  EXPECT_TRUE(wait([&] {
    return document().data.kind == data::DataKind::digits &&
           window_->center().canvas().topology_scene().live();
  }));
}

TEST_F(OtherRunShown, closing_asks_about_the_live_run) {
  EXPECT_FALSE(window_->close());
  EXPECT_EQ(asked_about_, QStringList(name_));
  EXPECT_TRUE(window_->isVisible());
}

TEST_F(OtherRunShown, controls_and_status_belong_to_the_live_run) {
  EXPECT_FALSE(window_->controls().run_action().isEnabled())
      << "two runs would train at the same time";
  EXPECT_TRUE(wait([&] {
    return window_->controls().stop_action().isEnabled() &&
           window_->controls().pause_action().isEnabled();
  }));
  const auto* bar = window_->findChild<RunStateBar*>();
  EXPECT_TRUE(wait([&] { return bar->state_text().startsWith("Running"); }))
      << bar->state_text().toStdString();
  QStringList texts;
  for (const QLabel* label : bar->findChildren<QLabel*>()) texts << label->text();
  EXPECT_TRUE(texts.contains(name_)) << texts.join(" | ").toStdString();
}

TEST_F(OtherRunShown, live_run_cannot_be_moved_to_trash) {
  EXPECT_EQ(may_be_trashed(panel(), live_), std::optional(false));
  EXPECT_EQ(may_be_trashed(panel(), old_), std::optional(true));
  bool asked = false;
  QTimer::singleShot(0, window_.get(), [&asked] {
    if (QWidget* box = QApplication::activeModalWidget()) asked = box->close();
  });
  panel().ask_delete(live_);
  QCoreApplication::processEvents();
  EXPECT_FALSE(asked) << "the run was confirmed for trash";
}

TEST_F(OtherRunShown, end_of_the_live_run_is_detected) {
  ASSERT_TRUE(end_live("completed"));
  ASSERT_TRUE(wait([&] { return !window_->runs().live(); }));
  EXPECT_EQ(window_->statusBar()->currentMessage(), name_ + " has ended");
  EXPECT_TRUE(window_->controls().run_action().isEnabled());
  EXPECT_TRUE(wait([&] { return state_of(panel(), live_) == "completed"; }));
  EXPECT_EQ(window_->runs().current()->directory(), old_) << "the shown run stays selected";
  EXPECT_TRUE(window_->findChild<RunStateBar*>()->state_text().startsWith("completed"));
  EXPECT_EQ(may_be_trashed(panel(), live_), std::optional(true));
  EXPECT_TRUE(window_->close());
  EXPECT_TRUE(asked_about_.isEmpty());
}

TEST_F(OtherRunShown, failure_of_the_live_run_names_it_and_offers_its_log) {
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

class OtherRealRunShown : public RealWindow {
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

TEST_F(OtherRealRunShown, live_run_can_still_be_stopped) {
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
  EXPECT_FALSE(window_->close()) << "the window closes after the end of the run";
  ASSERT_TRUE(wait([&] { return !window_->isVisible(); }));
  EXPECT_FALSE(window_->runs().live());
  EXPECT_TRUE(wait([&] { return read_run(training).state == "stopped"; }))
      << "the live run stopped normally";
}

}  // namespace
}  // namespace trainyard::ui::test
