// SPDX-License-Identifier: GPL-3.0-or-later
// The legend of a chart.
#include "ui/charts/plot_legend.h"

#include <QScrollBar>
#include <QTest>
#include <QToolButton>

#include "tests/ui/charts/plot_view_fixture.h"
#include "tests/ui/pictures.h"

namespace trainyard::ui {
namespace {

TEST_F(PlotViewTest, only_line_is_in_the_legend_if_it_has_a_name) {
  PlotView named, nameless;
  named.put_series("bus", {.label = "host0 bus (shared memory)"});
  nameless.put_series("loss", {});
  for (PlotView* plot : {&named, &nameless}) plot->refresh();
  EXPECT_FALSE(named.legend().isHidden());
  EXPECT_TRUE(nameless.legend().isHidden());
}

TEST_F(PlotViewTest, legend_hides_a_line_by_mouse_and_key) {
  plot_.put_series("b", {.label = "b", .color = 1});
  add({1, 2});
  plot_.append("b", points_of({100, 200}));
  plot_.refresh();
  EXPECT_GE(plot_.shown().y[0].high, 200);
  QToolButton* button = plot_.legend().button("b");
  ASSERT_TRUE(button);
  EXPECT_NE(button->focusPolicy() & Qt::TabFocus, 0);
  QTest::keyClick(button, Qt::Key_Space);
  plot_.refresh();
  EXPECT_LT(plot_.shown().y[0].high, 5);
  EXPECT_EQ(plot_.canvas().lines().series().size(), 1u);
}

TEST_F(PlotViewTest, legend_has_the_requested_order) {
  for (const char* id : {"c", "b"}) plot_.put_series(id, {.label = id});
  plot_.order_series({"a", "b", "c"});
  plot_.refresh();
  ASSERT_TRUE(QTest::qWaitFor([&] { return plot_.legend().button("c")->x() > 0; }));
  EXPECT_LT(plot_.legend().button("a")->x(), plot_.legend().button("b")->x());
  EXPECT_LT(plot_.legend().button("b")->x(), plot_.legend().button("c")->x());
}

TEST_F(PlotViewTest, legend_of_many_lines_scrolls_and_is_complete_in_images) {
  for (int i = 0; i < 40; ++i)
    plot_.put_series(QString::number(i), {.label = QString("run of the morning, rank %1").arg(i)});
  plot_.refresh();
  PlotLegend& legend = plot_.legend();
  const auto hidden = [&] { return legend.full_height() - legend.height(); };
  ASSERT_TRUE(QTest::qWaitFor([&] {
    return hidden() > plot_.height() / 2 && legend.verticalScrollBar()->maximum() >= hidden();
  }));
  EXPECT_LE(legend.height(), plot_.height() / 4);
  EXPECT_GE(plot_.canvas().height(), plot_.height() / 2);
  QToolButton* last = legend.button("39");
  EXPECT_TRUE(last->visibleRegion().isEmpty());
  legend.button("38")->setFocus();
  QTest::keyClick(legend.button("38"), Qt::Key_Tab);
  EXPECT_TRUE(QTest::qWaitFor([&] { return !last->visibleRegion().isEmpty(); }))
      << "the legend follows the keyboard";
  EXPECT_EQ(plot_.full_size().height(), plot_.height() + legend.full_height() - legend.height());
}

TEST_F(PlotViewTest, legend_is_readable_after_every_theme_change) {
  plot_.put_series("b", {.label = "another line", .color = 1});
  plot_.refresh();
  for (const auto kind :
       {Theme::Kind::dark, Theme::Kind::light, Theme::Kind::dark, Theme::Kind::light}) {
    Theme::instance().apply(kind);
    QCoreApplication::processEvents();
    plot_.refresh();
    const QToolButton* button = plot_.legend().button("b");
    const QPoint words = button->mapTo(&plot_, QPoint(button->iconSize().width() + 8, 3));
    const QImage picture =
        plot_
            .grab(QRect(words, QSize(button->width() - button->iconSize().width() - 12,
                                     button->height() - 6)))
            .toImage();
    EXPECT_GE(test::text_contrast(picture), test::kReadable) << Theme::instance().dark();
  }
}

}  // namespace
}  // namespace trainyard::ui
