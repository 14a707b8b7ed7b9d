// SPDX-License-Identifier: GPL-3.0-or-later
// Layout of the window: default, small, and with large text; shortcuts.
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QMenuBar>
#include <QTabBar>
#include <QTest>
#include <QToolBar>
#include <QToolButton>
#include <algorithm>
#include <set>

#include "tests/ui/answered_window.h"
#include "tests/ui/charts/synthetic_run.h"

namespace trainyard::ui {
namespace {

class WindowLayout : public test::AnsweredWindow {};

TEST_F(WindowLayout, every_menu_action_has_a_unique_shortcut) {
  std::set<QString> seen;
  const std::function<void(const QMenu&)> visit = [&](const QMenu& menu) {
    for (const QAction* action : menu.actions()) {
      if (action->menu()) {
        if (action->text() != "Open &recent") visit(*action->menu());
      } else if (!action->isSeparator()) {
        if (action->text() == "&Manual") continue;  // F1 explains the focused part instead
        EXPECT_FALSE(action->shortcut().isEmpty()) << action->text().toStdString();
        EXPECT_TRUE(seen.insert(action->shortcut().toString()).second)
            << action->text().toStdString() << " " << action->shortcut().toString().toStdString();
      }
    }
  };
  for (const QAction* action : window_->menuBar()->actions()) visit(*action->menu());
  EXPECT_GT(seen.size(), 40u);
  for (const QString& keys : seen)
    EXPECT_FALSE(keys.startsWith("Ctrl+Alt+"))
        << keys.toStdString() << " belongs to window managers";
}

TEST_F(WindowLayout, shortcuts_show_each_panel) {
  window_->center().show_welcome(false);
  window_->activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(window_.get()));
  window_->workspace().dock("inspector").hide();
  QTest::keyClick(window_.get(), Qt::Key_3, Qt::AltModifier);
  EXPECT_FALSE(window_->workspace().dock("inspector").isHidden());
}

TEST_F(WindowLayout, welcome_page_hides_the_panels) {
  EXPECT_FALSE(window_->workspace().dock("inspector").isVisible());
  window_->center().show_welcome(false);
  EXPECT_TRUE(window_->workspace().dock("inspector").isVisible());
}

TEST_F(WindowLayout, reset_of_the_layout_keeps_the_welcome_page) {
  window_->workspace().reset();
  for (const char* dock : {"inspector", "palette", "charts", "runs"})
    EXPECT_FALSE(window_->workspace().dock(dock).isVisible()) << dock;
  window_->center().show_welcome(false);
  EXPECT_TRUE(window_->workspace().dock("charts").isVisible());
}

TEST_F(WindowLayout, clicked_tab_focuses_its_panel) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  window_->activateWindow();
  QCoreApplication::processEvents();
  const auto click = [&](const QString& title) {
    for (QTabBar* bar : window_->findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly))
      for (int tab = 0; tab < bar->count(); ++tab)
        if (bar->tabText(tab) == title)
          QTest::mouseClick(bar, Qt::LeftButton, {}, bar->tabRect(tab).center());
    QCoreApplication::processEvents();
    QCoreApplication::processEvents();
  };
  click("Stepper");
  EXPECT_EQ(QApplication::focusWidget(), &window_->panels().stepper.table());
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Right);
  EXPECT_EQ(window_->panels().stepper.stepper().step(), 1);
  click("Timeline");
  EXPECT_EQ(QApplication::focusWidget(), &window_->panels().timeline.view());
}

TEST_F(WindowLayout, layouts_leave_no_stray_tab_bar) {
  const auto stray = [&] {
    const auto tabs = window_->tabifiedDockWidgets(&window_->workspace().dock("charts"));
    const auto panels =
        1 + std::ranges::count_if(tabs, [](const QDockWidget* dock) { return !dock->isHidden(); });
    QStringList bars;
    for (const QTabBar* bar :
         window_->findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly))
      if (bar->isVisible() && bar->count() != panels && bar->geometry().intersects(window_->rect()))
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
    window_->center().show_welcome(round == 1);
    QCoreApplication::processEvents();
  }
  window_->center().show_welcome(false);
  QCoreApplication::processEvents();
  EXPECT_EQ(stray(), "");
}

TEST_F(WindowLayout, arrangement_of_charts_is_saved) {
  window_->panels().charts.grid().move("memory", 0);
  window_->panels().charts.grid().set_shown("accuracy", false);
  const QStringList arranged = window_->panels().charts.grid().arrangement();
  ASSERT_TRUE(window_->close());
  window_ = make();
  EXPECT_EQ(window_->panels().charts.grid().arrangement(), arranged);
}

TEST_F(WindowLayout, hidden_panels_are_restored_at_their_position) {
  window_->center().show_welcome(false);
  window_->workspace().dock("palette").hide();
  ASSERT_TRUE(window_->close());
  window_ = make();
  window_->center().show_welcome(false);
  EXPECT_TRUE(window_->workspace().dock("inspector").isVisible());
  EXPECT_FALSE(window_->workspace().dock("palette").isVisible());
  window_->workspace().reset();
  EXPECT_TRUE(window_->workspace().dock("palette").isVisible());
}

TEST_F(WindowLayout, perspectives_arrange_the_panels) {
  window_->center().show_welcome(false);
  window_->workspace().set_perspective(Workspace::Perspective::compare);
  EXPECT_FALSE(window_->workspace().dock("inspector").isVisible());
  EXPECT_TRUE(window_->workspace().dock("runs").isVisible());
  EXPECT_TRUE(window_->workspace().dock("charts").isVisible());
  const auto left_of = [&](const char* a, const char* b) {
    const QRect first = window_->workspace().dock(a).geometry(),
                second = window_->workspace().dock(b).geometry();
    return first.right() < second.left() && !window_->workspace().dock(a).visibleRegion().isEmpty();
  };
  EXPECT_TRUE(QTest::qWaitFor([&] { return left_of("runs", "charts"); })) << "side by side";
  window_->workspace().set_perspective(Workspace::Perspective::build);
  EXPECT_TRUE(window_->workspace().dock("palette").isVisible());
  EXPECT_TRUE(window_->workspace().dock("inspector").isVisible());
}

TEST_F(WindowLayout, comparison_gives_charts_most_of_the_window) {
  window_->resize(1600, 1000);
  window_->center().show_welcome(false);
  window_->workspace().set_perspective(Workspace::Perspective::compare);
  const QDockWidget& charts = window_->workspace().dock("charts");
  EXPECT_TRUE(QTest::qWaitFor([&] { return charts.height() > 700 && charts.width() > 900; }))
      << charts.width() << " x " << charts.height();
  EXPECT_GE(window_->center().canvas().height(), 2 * window_->fontMetrics().height())
      << "the drawing is visible";
}

// Returns the number of empty columns at the left and right of an image.
std::pair<int, int> blank_columns(QWidget& widget) {
  const QImage seen = widget.grab().toImage();
  const auto blank = [&](int x) {
    for (int y = 0; y < seen.height(); ++y)
      if (seen.pixel(x, y) != seen.pixel(0, 0)) return false;
    return true;
  };
  std::pair<int, int> columns{0, 0};
  while (columns.first < seen.width() && blank(columns.first)) ++columns.first;
  while (columns.second < seen.width() && blank(seen.width() - 1 - columns.second))
    ++columns.second;
  return columns;
}

TEST_F(WindowLayout, pause_and_resume_share_one_toolbar_position) {
  window_->resize(1600, 1000);
  window_->center().show_welcome(false);
  QCoreApplication::processEvents();
  QAction &pause = window_->controls().pause_action(), &step = window_->controls().step_action();
  QWidget *button = nullptr, *next = nullptr;
  for (const QToolBar* bar : window_->findChildren<QToolBar*>())
    if (QWidget* found = bar->widgetForAction(&pause))
      button = found, next = bar->widgetForAction(&step);
  ASSERT_TRUE(button && next);
  const QRect place = button->geometry(), place_of_next = next->geometry();
  for (const char* text : {"&Pause training", "&Resume training", "&Pause training"}) {
    pause.setText(text);
    QCoreApplication::processEvents();
    const auto [left, right] = blank_columns(*button);
    EXPECT_LT(left, button->width() / 4) << text;
    EXPECT_NEAR(left, right, 8) << text << ": an icon has margins of its own";
    EXPECT_EQ(button->geometry(), place) << text;
    EXPECT_EQ(next->geometry(), place_of_next) << text;
  }
}

// Returns the completely visible charts.
int whole_charts(MainWindow& window) {
  int whole = 0;
  for (const ChartKind kind : kChartKinds) {
    const PlotView& plot = window.panels().charts.plot(kind);
    whole += plot.visibleRegion().boundingRect() == plot.rect() ? 1 : 0;
  }
  return whole;
}

TEST_F(WindowLayout, default_window_shows_four_readable_charts) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  for (const auto& [size, charts] : {std::pair(QSize(1600, 1000), 4), {QSize(1280, 800), 3}}) {
    window_->resize(size);
    window_->workspace().reset();
    const auto seen = [&, size = size, charts = charts] {
      return window_->size() == size && whole_charts(*window_) >= charts;
    };
    ASSERT_TRUE(QTest::qWaitFor(seen)) << size.width() << ": " << whole_charts(*window_);
    const QSizeF area = window_->panels().charts.plot(ChartKind::loss).canvas().plot_area().size();
    EXPECT_GT(area.width(), 220) << size.width();
    EXPECT_GT(area.height(), 90) << size.width();
    EXPECT_GT(window_->center().canvas().height(), size.height() / 3) << "the drawing is visible";
  }
}

// Returns the truncated texts of labels.
QStringList cut_texts(const QWidget& widget) {
  QStringList cut;
  for (const QLabel* label : widget.findChildren<QLabel*>())
    if (label->isVisible() &&
        label->fontMetrics().horizontalAdvance(label->text()) > label->width())
      cut << label->text();
  return cut;
}

class SmallWindow : public WindowLayout,
                    public testing::WithParamInterface<std::tuple<QSize, double>> {
 protected:
  // Opens a finished run in a window of this size and text scale.
  void show_run() {
    const auto& [size, scale] = GetParam();
    const QString directory = directory_.filePath("runs/2026-01-01_00-00-00_long");
    test::SyntheticRun().record(directory.toStdString(), 300);
    ASSERT_TRUE(window_->open(directory));
    ASSERT_TRUE(QTest::qWaitFor([&] {
      return window_->runs().current()->complete() && !window_->panels().charts.reading();
    }));
    Theme::instance().apply(Theme::Kind::light, scale);
    window_->resize(size);
    for (int round = 0; round < 3; ++round) QCoreApplication::processEvents();
  }
  const QToolButton* button(QAction& action) const {
    for (const QToolBar* bar : window_->findChildren<QToolBar*>())
      if (const QWidget* found = bar->widgetForAction(&action))
        return qobject_cast<const QToolButton*>(found);
    return nullptr;
  }
};

TEST_P(SmallWindow, shows_controls_and_status_of_a_run) {
  show_run();
  EXPECT_EQ(window_->size(), std::get<0>(GetParam()));
  const auto* bar = window_->findChild<RunStateBar*>();
  EXPECT_TRUE(bar->shown_state().startsWith("completed")) << bar->shown_state().toStdString();
  QStringList cut = cut_texts(*bar);
  cut.removeAll(window_->runs().current()->name());  // elided by design
  EXPECT_TRUE(cut.isEmpty()) << cut.join(" | ").toStdString();
  RunControls& controls = window_->controls();
  for (QAction* action : {&controls.run_action(), &controls.pause_action(), &controls.step_action(),
                          &controls.stop_action(), window_->panels().charts.freeze_action()}) {
    ASSERT_TRUE(button(*action)) << action->text().toStdString();
    EXPECT_TRUE(button(*action)->isVisible()) << action->text().toStdString();
    EXPECT_GE(button(*action)->width(), button(*action)->sizeHint().width())
        << action->text().toStdString();
  }
}

// Returns the plot heights of completely visible charts, in lines of text.
std::vector<double> whole_plots(MainWindow& window) {
  std::vector<double> lines;
  for (const ChartKind kind : kChartKinds) {
    const PlotView& plot = window.panels().charts.plot(kind);
    if (plot.visibleRegion().boundingRect() == plot.rect())
      lines.push_back(window.panels().charts.plot(kind).canvas().plot_area().height() /
                      plot.fontMetrics().height());
  }
  return lines;
}

TEST_P(SmallWindow, shows_one_complete_readable_chart_during_a_run) {
  show_run();
  const auto readable = [&] {
    return !whole_plots(*window_).empty() && std::ranges::max(whole_plots(*window_)) > 2;
  };
  EXPECT_TRUE(QTest::qWaitFor(readable)) << "sizes grow with the text";
  window_->workspace().set_perspective(Workspace::Perspective::build);
  QCoreApplication::processEvents();
  window_->workspace().set_perspective(Workspace::Perspective::run);
  EXPECT_TRUE(QTest::qWaitFor(readable)) << "in the perspective for it";
  const QDockWidget& charts = window_->workspace().dock("charts");
  EXPECT_TRUE(QTest::qWaitFor([&] { return window_->height() < 1000 || charts.height() > 480; }))
      << charts.height() << ": large letters have half the window";
  EXPECT_EQ(window_->size(), std::get<0>(GetParam())) << "the window does not grow for it";
  EXPECT_GE(window_->center().canvas().height(), 2 * window_->fontMetrics().height())
      << "the drawing is visible";
  window_->workspace().reset();
  ASSERT_TRUE(window_->open(window_->runs().current()->directory()));
  EXPECT_TRUE(QTest::qWaitFor(readable)) << "when a run is opened";
}

TEST_P(SmallWindow, shows_chart_options_on_request) {
  show_run();
  window_->workspace().set_perspective(Workspace::Perspective::run);
  const auto choice = [&]() -> const QWidget* {
    for (const QComboBox* one : window_->panels().charts.findChildren<QComboBox*>())
      if (one->accessibleName().contains("axis")) return one;
    return nullptr;
  };
  QToolButton* asks = nullptr;
  for (QToolButton* one : window_->panels().charts.findChildren<QToolButton*>())
    if (one->text() == "Options") asks = one;
  ASSERT_TRUE(asks && choice());
  ASSERT_TRUE(QTest::qWaitFor([&] { return asks->isVisible() != choice()->isVisible(); }));
  if (!asks->isVisible()) return;  // there is enough space
  asks->click();
  EXPECT_TRUE(QTest::qWaitFor(
      [&] { return choice()->isVisible() && !choice()->visibleRegion().isEmpty(); }));
  asks->click();
  EXPECT_TRUE(QTest::qWaitFor([&] { return asks->isVisible() != choice()->isVisible(); }));
}

// The tab shows the name. The dock shows its title again when there is space.
TEST_P(SmallWindow, hides_titles_of_tabbed_docks) {
  show_run();
  const auto& [size, scale] = GetParam();
  const bool is_short = size.height() < 520 * scale;
  EXPECT_EQ(window_->workspace().dock("log").titleBarWidget() != nullptr, is_short);
  EXPECT_EQ(window_->workspace().dock("palette").titleBarWidget(), nullptr);
  window_->resize(1600, 1000);
  Theme::instance().apply(Theme::Kind::light);
  EXPECT_TRUE(QTest::qWaitFor(
      [&] { return window_->workspace().dock("log").titleBarWidget() == nullptr; }));
}

std::string name_of(const testing::TestParamInfo<std::tuple<QSize, double>>& row) {
  const auto& [size, scale] = row.param;
  return "of_" + std::to_string(size.width()) + "_at_" +
         std::to_string(static_cast<int>(100 * scale));
}

INSTANTIATE_TEST_SUITE_P(all, SmallWindow,
                         testing::Values(std::tuple(QSize(900, 600), 1.0),
                                         std::tuple(QSize(1600, 1000), 2.0),
                                         std::tuple(QSize(1280, 800), 2.0),
                                         std::tuple(QSize(900, 600), 2.0)),
                         name_of);

TEST_F(WindowLayout, shortcut_raises_a_covered_panel_and_closes_a_visible_one) {
  ASSERT_TRUE(window_->open(example("four_devices_mirrored_digits.json")));
  window_->activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(window_.get()));
  QDockWidget& model = window_->workspace().dock("model");
  QAction& action = *model.toggleViewAction();
  const auto seen = [&] {
    QCoreApplication::processEvents();
    return !model.visibleRegion().isEmpty();
  };
  window_->workspace().raise("timeline");
  ASSERT_FALSE(seen());
  ASSERT_FALSE(model.isHidden()) << "the dock is tabbed";
  QTest::keySequence(window_.get(), action.shortcut());
  EXPECT_TRUE(seen());
  EXPECT_TRUE(action.isChecked());
  QTest::keySequence(window_.get(), action.shortcut());
  EXPECT_FALSE(seen());
  EXPECT_TRUE(model.isHidden());
  EXPECT_FALSE(action.isChecked());
  QTest::keySequence(window_.get(), action.shortcut());
  EXPECT_TRUE(seen());
  EXPECT_TRUE(action.isChecked());
}

}  // namespace
}  // namespace trainyard::ui
