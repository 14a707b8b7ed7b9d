// SPDX-License-Identifier: GPL-3.0-or-later
// Charts of a page that change at the same time are drawn in turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QTest>
#include <algorithm>
#include <memory>
#include <vector>

#include "ui/charts/plot_view.h"

namespace trainyard::ui {
namespace {

constexpr std::size_t kPlots = 4;
constexpr double kFar = 1000;

std::unique_ptr<PlotView> shown_plot() {
  auto plot = std::make_unique<PlotView>();
  plot->resize(300, 200);
  plot->put_series("line", {});
  plot->append("line", std::vector<SeriesPoint>{{0, 0, 0, 1}, {10, 0, 0, 1}});
  plot->show();
  EXPECT_TRUE(QTest::qWaitForWindowExposed(plot.get()));
  plot->refresh();
  return plot;
}

TEST(PlotScheduling, draws_one_chart_per_event_loop_turn) {
  std::vector<std::unique_ptr<PlotView>> plots;
  for (std::size_t i = 0; i < kPlots; ++i) plots.push_back(shown_plot());
  for (const auto& plot : plots) plot->append("line", std::vector<SeriesPoint>{{kFar, 0, 0, 1}});
  const auto drawn = [&] {
    return std::ranges::count_if(plots,
                                 [](const auto& plot) { return plot->shown().x.high >= kFar; });
  };
  QElapsedTimer patience;
  patience.start();
  for (auto before = drawn(); before < std::ssize(plots) && !patience.hasExpired(20'000);
       before = drawn()) {
    QApplication::processEvents();
    EXPECT_LE(drawn(), before + 1);
  }
  EXPECT_EQ(drawn(), std::ssize(plots));
}

}  // namespace
}  // namespace trainyard::ui
