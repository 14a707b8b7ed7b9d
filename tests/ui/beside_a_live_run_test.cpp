// SPDX-License-Identifier: GPL-3.0-or-later
// Actions and messages that are available while a run is live.
#include <QAction>
#include <QDockWidget>
#include <QLabel>
#include <QPushButton>

#include "tests/ui/opened_run.h"

namespace trainyard::ui {
namespace {

class BesideALiveRun : public test::OpenedRun {
 protected:
  BesideALiveRun() {
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
  // The window shows what it trains.
  bool open_live_run() {
    return open_live(live_run_of("four_devices_mirrored_digits.json")) &&
           QTest::qWaitFor([&] { return window_->document().has_devices(); });
  }
  // The words on the welcome page.
  QString said() const {
    QStringList words;
    for (const QLabel* label : window_->center().welcome().findChildren<QLabel*>())
      if (label->isVisible()) words << label->text();
    return words.join("\n");
  }
};

TEST_F(BesideALiveRun, an_example_is_not_run_and_it_is_said_why) {
  QPushButton& run = window_->center().welcome().cards().at(0)->run_button();
  EXPECT_TRUE(run.isEnabled());
  ASSERT_TRUE(open_live_run());
  const QString words = window_->runs().current()->name() + " is still training";
  window_->center().show_welcome(true);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !run.isEnabled(); }));
  EXPECT_TRUE(run.toolTip().contains("stop it before you run an example"))
      << run.toolTip().toStdString();
  EXPECT_TRUE(said().contains(words)) << said().toStdString();
  EXPECT_TRUE(window_->center().welcome().cards().at(0)->open_button().isEnabled());
  ASSERT_TRUE(open_whole(run_of("four_devices_mirrored_mnist.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return document().data.kind == data::DataKind::idx; }, 60'000));
  window_->center().show_welcome(true);
  after_a_look();
  EXPECT_FALSE(run.isEnabled()) << "another run is shown, and this one goes on";
  EXPECT_TRUE(said().contains(words)) << said().toStdString();
  ASSERT_TRUE(end_live("completed"));
  EXPECT_TRUE(QTest::qWaitFor([&] { return run.isEnabled(); }, 60'000));
  EXPECT_FALSE(said().contains("still training"));
}

TEST_F(BesideALiveRun, an_example_that_is_opened_is_not_taken_for_what_trains) {
  ASSERT_TRUE(open_live_run());
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().canvas().topology_scene().live(); }));
  window_->center().show_welcome(true);
  window_->center().welcome().cards().at(0)->open_button().click();
  EXPECT_FALSE(window_->center().shows_welcome());
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_->center().offers().isVisible(); }));
  EXPECT_TRUE(
      window_->center().offers().text().startsWith("This run trained a different experiment"))
      << window_->center().offers().text().toStdString();
  EXPECT_FALSE(window_->center().canvas().topology_scene().overlay())
      << "nothing is shown on a drawing that was not measured";
  EXPECT_TRUE(window_->runs().live()) << "and the run goes on";
  window_->center().offers().findChild<QPushButton*>()->click();
  EXPECT_TRUE(QTest::qWaitFor([&] { return window_->center().canvas().topology_scene().live(); }));
  EXPECT_TRUE(window_->center().offers().isHidden());
}

TEST_F(BesideALiveRun, every_way_that_leads_to_the_welcome_page_leads_back) {
  ASSERT_TRUE(open_live_run());
  for (const char* perspective : {"Build", "Watch", "Compare"}) {
    key(Qt::Key_W, Qt::ControlModifier | Qt::ShiftModifier);
    ASSERT_TRUE(window_->center().shows_welcome());
    ASSERT_TRUE(action(perspective) && action(perspective)->isEnabled()) << perspective;
    action(perspective)->trigger();
    EXPECT_FALSE(window_->center().shows_welcome()) << perspective;
  }
  EXPECT_TRUE(window_->workspace().dock("runs").isVisible()) << "as it was chosen";
  EXPECT_FALSE(window_->workspace().dock("inspector").isVisible());
  for (const auto& [back, modifiers] : {std::pair(Qt::Key_Escape, Qt::KeyboardModifiers()),
                                        {Qt::Key_W, Qt::ControlModifier | Qt::ShiftModifier}}) {
    window_->center().show_welcome(true);
    key(back, modifiers);
    EXPECT_FALSE(window_->center().shows_welcome()) << back;
    EXPECT_TRUE(window_->workspace().dock("runs").isVisible()) << "as it was left";
  }
}

TEST_F(BesideALiveRun, the_log_that_a_banner_offers_comes_in_place_of_the_welcome_page) {
  ASSERT_TRUE(open_live_run());
  emit window_->runs().error_reported(window_->runs().current(), "A part of it is lost.");
  window_->center().show_welcome(true);
  window_->center().errors().findChild<QPushButton*>()->click();
  EXPECT_FALSE(window_->center().shows_welcome());
  EXPECT_TRUE(QTest::qWaitFor([&] { return !window_->panels().log.visibleRegion().isEmpty(); }));
}

TEST_F(BesideALiveRun, a_small_window_says_which_run_it_is_how_far_and_how_long_it_takes) {
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
