// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/chart_grid.h"

#include <gtest/gtest.h>

#include <QMenu>
#include <QSignalSpy>
#include <QTest>
#include <cstdlib>

#include "ui/charts/plot_legend.h"

namespace trainyard::ui {
namespace {

class ChartGridTest : public testing::Test {
 protected:
  ChartGridTest() {
    for (const char* name : {"loss", "accuracy", "memory", "rate"}) plots_[name] = grid_.add(name);
    grid_.resize(1600, 900);
    grid_.show();
    EXPECT_TRUE(
        QTest::qWaitFor([&] { return plots_["rate"]->y() > 0 || plots_["rate"]->x() > 0; }));
  }
  void send(QEvent::Type type, const QString& handle, QPoint at, Qt::MouseButtons held) {
    QWidget* widget = plots_[handle]->drag_handle();
    QMouseEvent event(type, widget->mapFromGlobal(grid_.mapToGlobal(at)), grid_.mapToGlobal(at),
                      Qt::LeftButton, held, {});
    QApplication::sendEvent(widget, &event);
  }
  void drag(const QString& name, QPoint to) {
    QWidget* handle = plots_[name]->drag_handle();
    const QPoint from = handle->mapTo(&grid_, handle->rect().center());
    send(QEvent::MouseButtonPress, name, from, Qt::LeftButton);
    for (int part = 1; part <= 8; ++part)
      send(QEvent::MouseMove, name, from + (to - from) * part / 8, Qt::LeftButton);
    send(QEvent::MouseButtonRelease, name, to, Qt::NoButton);
  }
  QPoint middle(const QString& name) { return plots_[name]->geometry().center(); }
  std::string order() const { return grid_.arrangement().join(" ").toStdString(); }

  ChartGrid grid_;
  std::map<QString, PlotView*> plots_;
};

TEST_F(ChartGridTest, chart_dragged_by_its_title_moves_to_the_drop_position) {
  QSignalSpy changed(&grid_, &ChartGrid::arrangement_changed);
  drag("rate", middle("loss"));
  EXPECT_EQ(order(), "rate loss accuracy memory");
  EXPECT_EQ(changed.size(), 1);
  ASSERT_TRUE(QTest::qWaitFor([&] { return plots_["rate"]->pos() == QPoint(0, 0); }));
  drag("rate", middle("memory"));
  EXPECT_EQ(order(), "loss accuracy memory rate");
  EXPECT_TRUE(QTest::qWaitFor([&] { return plots_["loss"]->pos() == QPoint(0, 0); }));
}

TEST_F(ChartGridTest, click_on_a_title_moves_no_chart) {
  QTest::mouseClick(plots_["memory"]->drag_handle(), Qt::LeftButton);
  EXPECT_EQ(order(), "loss accuracy memory rate");
}

TEST_F(ChartGridTest, page_contains_complete_rows_and_is_full) {
  for (const int page : {300, 500, 700}) {
    grid_.set_page(page);
    grid_.resize(700, std::max(page, grid_.minimumHeight()));  // two columns
    const auto full = [&] {
      const int height = plots_["loss"]->height(), rows = page / height;
      return plots_["memory"]->x() == 0 && rows >= 1 &&
             std::abs(page - rows * (height + 8)) <= 8;  // 8: between rows
    };
    EXPECT_TRUE(QTest::qWaitFor(full)) << page << " shows charts of " << plots_["loss"]->height();
    EXPECT_GE(plots_["loss"]->height(), plots_["loss"]->sizeHint().height());
  }
}

TEST_F(ChartGridTest, plot_below_a_long_legend_keeps_a_minimum_height) {
  PlotView& plot = *plots_["loss"];
  for (int i = 0; i < 40; ++i)
    plot.put_series(QString::number(i), {.label = QString("run of the morning, rank %1").arg(i)});
  plot.refresh();
  const int line = grid_.fontMetrics().height();
  for (const int lines : {18, 26, 35, 50}) {
    const int page = lines * line;
    grid_.set_page(page);
    grid_.resize(45 * line, std::max(page, grid_.minimumHeight()));  // two columns
    const auto readable = [&] {
      return plot.height() <= page && plot.canvas().plot_area().height() > 6 * line &&
             plot.legend().height() <= plot.height() / 4;
    };
    EXPECT_TRUE(QTest::qWaitFor(readable))
        << plot.canvas().plot_area().height() << " of " << plot.height() << " on a page of " << page
        << ", legend " << plot.legend().height();
  }
}

TEST_F(ChartGridTest, menu_moves_and_hides_charts_and_the_arrangement_is_saved) {
  const auto act = [&](const QString& name, const QString& text) {
    for (QAction* action : plots_[name]->menu().actions())
      if (action->text() == text) return action->trigger();
    FAIL() << text.toStdString();
  };
  act("memory", "Move earlier");
  act("loss", "Hide");
  EXPECT_EQ(order(), "-loss memory accuracy rate");
  EXPECT_FALSE(plots_["loss"]->isVisible());
  ChartGrid other;
  for (const char* name : {"loss", "accuracy", "memory", "rate"}) other.add(name);
  other.arrange(grid_.arrangement() << "unknown");
  EXPECT_EQ(other.arrangement(), grid_.arrangement());
}

}  // namespace
}  // namespace trainyard::ui
