// SPDX-License-Identifier: GPL-3.0-or-later
// A sweep in the window with the real programs: start, follow, cancel, and open runs.
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>
#include <QTest>

#include "core/session/sweep/sweep_file.h"
#include "tests/ui/real_window.h"

namespace trainyard::ui::test {
namespace {

using session::VariantState;

class ScalingWindow : public RealWindow {
 protected:
  ~ScalingWindow() override {
    if (!window_) return;
    panel().cancel();
    wait([&] { return !panel().sweeping(); });
  }
  ScalingPanel& panel() { return window_->panels().scaling; }
  const session::Sweep* sweep() {
    return panel().follower().sweep() ? &*panel().follower().sweep() : nullptr;
  }
  void open_example() {
    ASSERT_TRUE(window_->open(QString(TRAINYARD_SOURCE_DIR) +
                              "/resources/experiments/four_devices_mirrored_digits.json"));
    window_->workspace().raise("scaling");
  }
  void start(const char* ranks, int steps) {
    panel().form().ranks().setFocus();
    panel().form().ranks().selectAll();
    QTest::keyClicks(&panel().form().ranks(), ranks);
    panel().form().steps().setValue(steps);
    ASSERT_TRUE(panel().start_button().isEnabled()) << panel().hint().toStdString();
    QTest::mouseClick(&panel().start_button(), Qt::LeftButton);
  }
  bool over() {
    return wait([&] { return !panel().sweeping() && sweep(); });
  }
};

TEST_F(ScalingWindow, runs_a_sweep_shows_it_and_opens_one_of_its_runs) {
  open_example();
  start("1,2", 10);
  ASSERT_TRUE(over());
  ASSERT_EQ(sweep()->state, session::SweepState::completed) << panel().status().toStdString();
  const auto figures = session::scaled(*sweep());
  ASSERT_TRUE(figures[0] && figures[1]);
  EXPECT_TRUE(figures[1]->equals_formula);
  const PlotSeries* ring = panel().charts().plot(ScalingChart::speed_up).model().find("ring");
  ASSERT_TRUE(ring);
  EXPECT_EQ(ring->points.value(0), figures[1]->speed_up);
  panel().table().setFocus();
  panel().table().setCurrentItem(panel().table().topLevelItem(1));
  QTest::keyClick(&panel().table(), Qt::Key_Return);
  ASSERT_TRUE(
      wait([&] { return window_->runs().current() && window_->runs().current()->complete(); }));
  EXPECT_EQ(window_->runs().current()->history().train_loss().size(), 10u);
  EXPECT_TRUE(window_->runs().current()->name().contains("ring on 2 ranks"))
      << window_->runs().current()->name().toStdString();
}

TEST_F(ScalingWindow, cancels_a_sweep_and_keeps_finished_runs) {
  open_example();
  start("1,2", 1'000'000);
  ASSERT_TRUE(wait([&] { return sweep() && sweep()->variants[0].state == VariantState::running; }));
  QTest::mouseClick(&panel().cancel_button(), Qt::LeftButton);
  ASSERT_TRUE(over());
  EXPECT_EQ(sweep()->state, session::SweepState::canceled);
  EXPECT_EQ(sweep()->variants[1].directory, "");
}

TEST_F(ScalingWindow, starts_no_run_beside_a_sweep_until_that_is_canceled) {
  open_example();
  start("2,4", 1'000'000);
  ASSERT_TRUE(wait([&] { return sweep() && sweep()->variants[0].state == VariantState::running; }));
  window_->start_run();
  EXPECT_FALSE(window_->run_wanted());
  EXPECT_TRUE(window_->center().errors().text().contains("sweep"))
      << window_->center().errors().text().toStdString();
  panel().cancel();
  ASSERT_TRUE(over());
  EXPECT_TRUE(wait([&] { return window_->center().errors().isHidden(); })) << "the sweep has ended";
  window_->start_run();
  EXPECT_TRUE(wait([&] { return window_->runs().live(); }));
  EXPECT_TRUE(wait([&] { return !panel().start_button().isEnabled(); }))
      << "a sweep does not start during a run";
}

TEST_F(ScalingWindow, crash_keeps_the_sweep) {
  open_example();
  start("1,2", 1'000'000);
  ASSERT_TRUE(wait([&] { return sweep() && sweep()->variants[0].state == VariantState::running; }));
  const QString directory = panel().follower().directory();
  window_.reset();
  window_ = make_window();
  window_->offer_recoveries();
  ASSERT_TRUE(wait([&] { return panel().follower().directory() == directory && sweep(); }))
      << "another window attaches to the sweep";
  EXPECT_TRUE(panel().sweeping()) << "the sweep continued";
  panel().cancel();
  ASSERT_TRUE(over());
  EXPECT_EQ(sweep()->state, session::SweepState::canceled);
  ASSERT_TRUE(window_->open(directory)) << "the directory identifies the run";
  EXPECT_FALSE(window_->center().shows_welcome());
  EXPECT_EQ(window_->document().experiment().topology.hosts.at(0).devices.size(), 4u)
      << "the experiment replaces an empty drawing";
  EXPECT_TRUE(window_->document().file().isEmpty());
  EXPECT_TRUE(wait([&] { return panel().isVisible() && !panel().visibleRegion().isEmpty(); }))
      << "the drawing is visible";
}

}  // namespace
}  // namespace trainyard::ui::test
