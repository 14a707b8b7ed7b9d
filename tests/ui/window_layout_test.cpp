// SPDX-License-Identifier: GPL-3.0-or-later
// How the window is laid out, at first, small and in large type; and its keys.
#include <QDockWidget>
#include <QLabel>
#include <QMenuBar>
#include <QTabBar>
#include <QTest>
#include <QToolBar>
#include <QToolButton>
#include <set>

#include "tests/ui/answered_window.h"
#include "tests/ui/charts/synthetic_run.h"

namespace trainyard::ui {
namespace {

class WindowLayout : public test::AnsweredWindow {};

TEST_F(WindowLayout, every_action_of_the_menus_has_a_shortcut_of_its_own) {
  std::set<QString> seen;
  const std::function<void(const QMenu&)> visit = [&](const QMenu& menu) {
    for (const QAction* action : menu.actions()) {
      if (action->menu()) {
        if (action->text() != "Open &recent") visit(*action->menu());
      } else if (!action->isSeparator()) {
        EXPECT_FALSE(action->shortcut().isEmpty()) << action->text().toStdString();
        EXPECT_TRUE(seen.insert(action->shortcut().toString()).second) << action->text().toStdString() << " " << action->shortcut().toString().toStdString();
      }
    }
  };
  for (const QAction* action : window_->menuBar()->actions()) visit(*action->menu());
  EXPECT_GT(seen.size(), 40u);
  for (const QString& keys : seen) EXPECT_FALSE(keys.startsWith("Ctrl+Alt+")) << keys.toStdString() << " belongs to window managers";
}

TEST_F(WindowLayout, a_key_shows_each_panel) {
  window_->show_welcome(false);
  window_->activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(window_.get()));
  window_->workspace().dock("inspector").hide();
  QTest::keyClick(window_.get(), Qt::Key_3, Qt::AltModifier);
  EXPECT_FALSE(window_->workspace().dock("inspector").isHidden());
}

TEST_F(WindowLayout, the_welcome_page_has_the_window_for_itself) {
  EXPECT_FALSE(window_->workspace().dock("inspector").isVisible());
  window_->show_welcome(false);
  EXPECT_TRUE(window_->workspace().dock("inspector").isVisible());
}

TEST_F(WindowLayout, resetting_the_layout_leaves_the_welcome_page_the_window) {
  window_->workspace().reset();
  for (const char* dock : {"inspector", "palette", "charts", "runs"}) EXPECT_FALSE(window_->workspace().dock(dock).isVisible()) << dock;
  window_->show_welcome(false);
  EXPECT_TRUE(window_->workspace().dock("charts").isVisible());
}

TEST_F(WindowLayout, no_layout_leaves_a_stray_bar_of_tabs) {
  const auto stray = [&] {
    QStringList bars;
    for (const QTabBar* bar : window_->findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly))
      if (bar->isVisible() && bar->count() != 5 && bar->geometry().intersects(window_->rect()))
        bars << QString("%1 tabs at %2").arg(bar->count()).arg(bar->y());
    return bars.join(", ").toStdString();
  };
  window_->workspace().reset();
  window_->resize(1600, 1000);
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  for (int round = 0; round < 3; ++round) {
    window_->workspace().reset();
    QCoreApplication::processEvents();
    EXPECT_EQ(stray(), "");
    window_->show_welcome(round == 1);
    QCoreApplication::processEvents();
  }
  window_->show_welcome(false);
  QCoreApplication::processEvents();
  EXPECT_EQ(stray(), "");
}

TEST_F(WindowLayout, the_arrangement_of_the_charts_is_kept) {
  window_->charts().grid().move("memory", 0);
  window_->charts().grid().set_shown("accuracy", false);
  const QStringList arranged = window_->charts().grid().arrangement();
  ASSERT_TRUE(window_->close());
  window_ = make();
  EXPECT_EQ(window_->charts().grid().arrangement(), arranged);
}

TEST_F(WindowLayout, panels_are_hidden_and_come_back_where_they_were) {
  window_->show_welcome(false);
  window_->workspace().dock("palette").hide();
  ASSERT_TRUE(window_->close());
  window_ = make();
  window_->show_welcome(false);
  EXPECT_TRUE(window_->workspace().dock("inspector").isVisible());
  EXPECT_FALSE(window_->workspace().dock("palette").isVisible());
  window_->workspace().reset();
  EXPECT_TRUE(window_->workspace().dock("palette").isVisible());
}

TEST_F(WindowLayout, perspectives_arrange_the_panels) {
  window_->show_welcome(false);
  window_->workspace().set_perspective(Workspace::Perspective::compare);
  EXPECT_FALSE(window_->workspace().dock("inspector").isVisible());
  EXPECT_TRUE(window_->workspace().dock("runs").isVisible());
  EXPECT_TRUE(window_->workspace().dock("charts").isVisible());
  const auto left_of = [&](const char* a, const char* b) {
    const QRect first = window_->workspace().dock(a).geometry(), second = window_->workspace().dock(b).geometry();
    return first.right() < second.left() && !window_->workspace().dock(a).visibleRegion().isEmpty();
  };
  EXPECT_TRUE(QTest::qWaitFor([&] { return left_of("runs", "charts"); })) << "side by side";
  window_->workspace().set_perspective(Workspace::Perspective::build);
  EXPECT_TRUE(window_->workspace().dock("palette").isVisible());
  EXPECT_TRUE(window_->workspace().dock("inspector").isVisible());
}

// Charts that are seen whole.
int whole_charts(MainWindow& window) {
  int whole = 0;
  for (const ChartKind kind : kChartKinds) {
    const PlotView& plot = window.charts().plot(kind);
    whole += plot.visibleRegion().boundingRect() == plot.rect() ? 1 : 0;
  }
  return whole;
}

TEST_F(WindowLayout, four_charts_are_seen_whole_and_readable_as_the_window_comes) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  for (const auto& [size, charts] : {std::pair(QSize(1600, 1000), 4), {QSize(1280, 800), 3}}) {
    window_->resize(size);
    window_->workspace().reset();
    const auto seen = [&, size = size, charts = charts] { return window_->size() == size && whole_charts(*window_) >= charts; };
    ASSERT_TRUE(QTest::qWaitFor(seen)) << size.width() << ": " << whole_charts(*window_);
    const QSizeF area = window_->charts().plot(ChartKind::loss).canvas().plot_area().size();
    EXPECT_GT(area.width(), 220) << size.width();
    EXPECT_GT(area.height(), 90) << size.width();
    EXPECT_GT(window_->canvas().height(), size.height() / 3) << "the drawing stays in sight";
  }
}

// The texts of labels that are wider than the labels.
QStringList cut_texts(const QWidget& widget) {
  QStringList cut;
  for (const QLabel* label : widget.findChildren<QLabel*>())
    if (label->isVisible() && label->fontMetrics().horizontalAdvance(label->text()) > label->width()) cut << label->text();
  return cut;
}

class SmallWindow : public WindowLayout, public testing::WithParamInterface<std::tuple<QSize, double>> {
 protected:
  // A run that is over, in a window of that size, in type of that scale.
  void show_run() {
    const auto& [size, scale] = GetParam();
    const QString directory = directory_.filePath("runs/2026-01-01_00-00-00_long");
    trainyard::test::SyntheticRun().record(directory.toStdString(), 300);
    ASSERT_TRUE(window_->open(directory));
    ASSERT_TRUE(QTest::qWaitFor([&] { return window_->runs().current()->complete(); }));
    Theme::instance().apply(Theme::Kind::light, scale);
    window_->resize(size);
    for (int round = 0; round < 3; ++round) QCoreApplication::processEvents();
  }
  const QToolButton* button(QAction& action) const {
    for (const QToolBar* bar : window_->findChildren<QToolBar*>())
      if (const QWidget* found = bar->widgetForAction(&action)) return qobject_cast<const QToolButton*>(found);
    return nullptr;
  }
};

TEST_P(SmallWindow, holds_what_steers_and_tells_a_run) {
  show_run();
  EXPECT_EQ(window_->size(), std::get<0>(GetParam()));
  const auto* bar = window_->findChild<RunStateBar*>();
  EXPECT_TRUE(bar->shown_state().startsWith("completed")) << bar->shown_state().toStdString();
  QStringList cut = cut_texts(*bar);
  cut.removeAll(window_->runs().current()->name());  // it is elided, in view of all
  EXPECT_TRUE(cut.isEmpty()) << cut.join(" | ").toStdString();
  RunControls& controls = window_->controls();
  for (QAction* action :
       {&controls.run_action(), &controls.pause_action(), &controls.step_action(), &controls.stop_action(), window_->charts().freeze_action()}) {
    ASSERT_TRUE(button(*action)) << action->text().toStdString();
    EXPECT_TRUE(button(*action)->isVisible()) << action->text().toStdString();
    EXPECT_GE(button(*action)->width(), button(*action)->sizeHint().width()) << action->text().toStdString();
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<QSize, double>>& row) {
  const auto& [size, scale] = row.param;
  return "of_" + std::to_string(size.width()) + "_at_" + std::to_string(static_cast<int>(100 * scale));
}

INSTANTIATE_TEST_SUITE_P(all, SmallWindow,
                         testing::Values(std::tuple(QSize(900, 600), 1.0), std::tuple(QSize(1600, 1000), 2.0), std::tuple(QSize(900, 600), 2.0)), name_of);

}  // namespace
}  // namespace trainyard::ui
