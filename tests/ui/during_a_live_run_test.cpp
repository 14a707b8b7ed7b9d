// SPDX-License-Identifier: GPL-3.0-or-later
// Actions and messages that are available while a run is live.
#include <QAction>
#include <QDockWidget>
#include <QLabel>
#include <QPushButton>

#include "tests/ui/has_all.h"
#include "tests/ui/opened_run.h"

namespace trainyard::ui {
namespace {

class DuringALiveRun : public test::OpenedRun {
 protected:
  DuringALiveRun() {
    window_->activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(window_.get())) << "shortcuts need an active window";
  }
  void key(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(window_.get(), key, modifiers);
  }
  QAction* action(const QString& text) const {
    for (QAction* one : window_->findChildren<QAction*>())
      if (one->text().remove('&') == text) return one;
    return nullptr;
  }
  // Opens a live run whose experiment is on the canvas.
  bool open_live_run() {
    return open_live(live_run_of("four_devices_mirrored_digits.json")) &&
           QTest::qWaitFor([&] { return window_->document().has_devices(); });
  }
  // Returns the texts of the welcome page.
  QString welcome_texts() const {
    QStringList words;
    for (const QLabel* label : window_->center().welcome().findChildren<QLabel*>())
      if (label->isVisible()) words << label->text();
    return words.join("\n");
  }
};

TEST_F(DuringALiveRun, example_is_not_started_and_the_reason_is_shown) {
  QPushButton& run = window_->center().welcome().cards().at(0)->run_button();
  EXPECT_TRUE(run.isEnabled());
  ASSERT_TRUE(open_live_run());
  const QString words = window_->runs().current()->name() + " is still training";
  window_->center().show_welcome(true);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !run.isEnabled(); }));
  EXPECT_THAT(run.toolTip(), test::HasAll(window_->runs().current()->name().toStdString()));
  EXPECT_TRUE(welcome_texts().contains(words)) << welcome_texts().toStdString();
  EXPECT_TRUE(window_->center().welcome().cards().at(0)->open_button().isEnabled());
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_mnist.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return document().data.kind == data::DataKind::idx; }, 60'000));
  window_->center().show_welcome(true);
  wait_for_poll();
  EXPECT_FALSE(run.isEnabled()) << "the live run continues while another is shown";
  EXPECT_TRUE(welcome_texts().contains(words)) << welcome_texts().toStdString();
  ASSERT_TRUE(end_live("completed"));
  EXPECT_TRUE(QTest::qWaitFor([&] { return run.isEnabled(); }, 60'000));
  EXPECT_FALSE(welcome_texts().contains("still training"));
}

TEST_F(DuringALiveRun, opened_example_is_not_the_live_experiment) {
  ASSERT_TRUE(open_live_run());
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().canvas().topology_scene().live(); }));
  window_->center().show_welcome(true);
  window_->center().welcome().cards().at(0)->open_button().click();
  EXPECT_FALSE(window_->center().shows_welcome());
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().offers().isVisible(); }));
  EXPECT_THAT(window_->center().offers().text(), test::HasAll("different experiment"));
  EXPECT_FALSE(window_->center().canvas().topology_scene().overlay())
      << "the drawing is not the one of the run";
  EXPECT_TRUE(window_->runs().live()) << "the run continues";
  window_->center().offers().findChild<QPushButton*>()->click();
  EXPECT_TRUE(QTest::qWaitFor([&] { return window_->center().canvas().topology_scene().live(); }));
  EXPECT_TRUE(window_->center().offers().isHidden());
}

TEST_F(DuringALiveRun, welcome_page_can_always_be_left) {
  ASSERT_TRUE(open_live_run());
  for (const char* perspective : {"Build", "Watch", "Compare"}) {
    key(Qt::Key_W, Qt::ControlModifier | Qt::ShiftModifier);
    ASSERT_TRUE(window_->center().shows_welcome());
    ASSERT_TRUE(action(perspective) && action(perspective)->isEnabled()) << perspective;
    action(perspective)->trigger();
    EXPECT_FALSE(window_->center().shows_welcome()) << perspective;
  }
  EXPECT_TRUE(window_->workspace().dock("runs").isVisible()) << "the chosen page is shown";
  EXPECT_FALSE(window_->workspace().dock("inspector").isVisible());
  for (const auto& [back, modifiers] : {std::pair(Qt::Key_Escape, Qt::KeyboardModifiers()),
                                        {Qt::Key_W, Qt::ControlModifier | Qt::ShiftModifier}}) {
    window_->center().show_welcome(true);
    key(back, modifiers);
    EXPECT_FALSE(window_->center().shows_welcome()) << back;
    EXPECT_TRUE(window_->workspace().dock("runs").isVisible()) << "the previous page is shown";
  }
}

TEST_F(DuringALiveRun, log_offered_by_a_banner_replaces_the_welcome_page) {
  ASSERT_TRUE(open_live_run());
  emit window_->runs().error_reported(window_->runs().current(), "A part of it is lost.");
  window_->center().show_welcome(true);
  window_->center().errors().findChild<QPushButton*>()->click();
  EXPECT_FALSE(window_->center().shows_welcome());
  EXPECT_TRUE(QTest::qWaitFor([&] { return !window_->panels().log.visibleRegion().isEmpty(); }));
}

TEST_F(DuringALiveRun, small_window_shows_run_progress_and_time_left) {
  window_->resize(900, 600);
  ASSERT_TRUE(open_live_run());
  window_->workspace().set_perspective(Workspace::Perspective::build);
  const auto* bar = window_->findChild<RunStateBar*>();
  EXPECT_TRUE(QTest::qWaitFor([&] {
    return bar->shown_state().contains("/1,000") && bar->shown_state().contains(" left");
  })) << bar->shown_state().toStdString()
      << " in " << bar->width();
  const auto shows = [&](const QString& text) {
    for (const QLabel* label : bar->findChildren<QLabel*>())
      if (label->isVisible() && label->text() == text) return true;
    return false;
  };
  EXPECT_TRUE(shows(window_->runs().current()->name())) << bar->width();
}

}  // namespace
}  // namespace trainyard::ui
