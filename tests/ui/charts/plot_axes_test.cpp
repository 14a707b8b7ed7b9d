// SPDX-License-Identifier: GPL-3.0-or-later
// The axes of a chart: their ticks, units and names.
#include <QCoreApplication>
#include <QGraphicsTextItem>
#include <algorithm>

#include "tests/ui/charts/plot_view_fixture.h"

namespace trainyard::ui {
namespace {

TEST(PlotScale, ticks_are_round_distinct_and_within_the_range) {
  for (const Span range :
       {Span{0, 1}, Span{-3, 12'345}, Span{0.99991, 0.99993}, Span{0, 3e9}, Span{1e-9, 4e-9}}) {
    const auto ticks = linear_ticks(range, 6, 1);
    ASSERT_GE(ticks.size(), 2u);
    QStringList labels;
    for (const Tick& tick : ticks) {
      EXPECT_GE(tick.at, range.low - 1e-6 * range.width());
      EXPECT_LE(tick.at, range.high + 1e-6 * range.width());
      labels << tick.label;
    }
    EXPECT_EQ(labels.removeDuplicates(), 0) << labels.join(" ").toStdString();
  }
  EXPECT_GE(log_ticks({-0.2, 0.1}, 6, 1).size(), 2u);
}

TEST(PlotScale, axis_has_at_least_two_ticks_within_its_range) {
  const auto expect_two = [](const std::vector<Tick>& ticks, Span range, const char* kind) {
    const auto within = std::ranges::count_if(ticks, [&](const Tick& tick) {
      return tick.at >= range.low - 1e-6 && tick.at <= range.high + 1e-6;
    });
    EXPECT_GE(within, 2) << kind << " " << range.low << " to " << range.high;
  };
  for (const int about : {1, 2, 3})
    for (int from = -30; from < 30; ++from)
      for (int width = 1; width < 90; ++width) {
        const Span range{from * 0.173, from * 0.173 + width * 0.0917};
        expect_two(linear_ticks(range, about, 1), range, "linear");
        expect_two(linear_ticks(range, about, 1e-3), range, "linear, in thousandths");
        expect_two(log_ticks(range, about, 1), range, "logarithmic");
      }
}

TEST(PlotScale, units_have_prefixes_if_they_support_them) {
  EXPECT_EQ(axis_unit("B/s", 2.5e9).text, "GB/s");
  EXPECT_EQ(axis_unit("s", 0.004).text, "ms");
  EXPECT_EQ(axis_unit("samples/s", 1e6).text, "samples/s");
  EXPECT_EQ(x_axis_unit(XAxis::bytes, 3e6).text, "MB sent");
  EXPECT_EQ(x_axis_unit(XAxis::bytes, 3e6).factor, 1e6);
  EXPECT_EQ(x_axis_unit(XAxis::seconds, 0.02).text, "wall time (s)");
  EXPECT_EQ(x_axis_unit(XAxis::seconds, 900).text, "wall time (min)");
  EXPECT_EQ(x_axis_unit(XAxis::passes, 4).text, "passes over the data");
  EXPECT_EQ(x_axis_unit(XAxis::simulated, 0.02).text, "simulated time (ms)");
  EXPECT_EQ(x_axis_unit(XAxis::simulated, 0.02).factor, 1e-3);
  EXPECT_EQ(x_axis_unit(XAxis::simulated, 20000).text, "simulated time (h)");
}

// Visible texts at the axes.
QStringList words_of(PlotView& plot) {
  QStringList words;
  for (const QGraphicsItem* item : plot.canvas().scene()->items())
    if (const auto* text = qgraphicsitem_cast<const QGraphicsTextItem*>(item);
        text && text->isVisible())
      words << text->toPlainText();
  return words;
}

TEST_F(PlotViewTest, name_of_the_x_axis_is_never_truncated) {
  add({1, 2, 3});
  std::vector<int> named;
  for (int height = plot_.minimumSizeHint().height(); height <= 400; height += 4) {
    plot_.resize(640, height);
    for (int frame = 0; frame < 3; ++frame)
      QCoreApplication::processEvents(),
          plot_.refresh();  // the axes depend on the remaining space
    const QStringList words = words_of(plot_);
    EXPECT_FALSE(words.contains("..."))
        << "in a chart of " << height << " pixels: " << words.join(" | ").toStdString();
    named.push_back(words.contains("step"));
  }
  EXPECT_FALSE(named.front()) << "the text does not fit";
  EXPECT_TRUE(named.back());
  EXPECT_TRUE(std::ranges::is_sorted(named)) << "the text appears once when the chart grows";
}

}  // namespace
}  // namespace trainyard::ui
