// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/draw_queue.h"

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

class DrawQueueTest : public testing::Test {
 protected:
  static constexpr std::size_t kPlots = 4;
  static constexpr double kFar = 1000;

  DrawQueueTest() {
    for (auto& plot : plots_) {
      plot = std::make_unique<PlotView>();
      plot->resize(300, 200);
      plot->put_series("line", {});
      plot->append("line", std::vector<SeriesPoint>{{0, 0, 0, 1}, {10, 0, 0, 1}});
      plot->refresh();
    }
  }
  // Shows what it did not before.
  bool drawn(std::size_t plot) const { return plots_[plot]->shown().x.high >= kFar; }
  void grow(std::size_t plot) { plots_[plot]->append("line", std::vector<SeriesPoint>{{kFar, 0, 0, 1}}); }

  // In which order they are drawn; and never two in one turn of the event loop.
  std::vector<std::size_t> watch(std::size_t count) {
    std::vector<std::size_t> order;
    const auto turn = [&] {
      const std::size_t before = order.size();
      for (std::size_t plot = 0; plot < kPlots; ++plot)
        if (plots_[plot] && drawn(plot) && std::ranges::count(order, plot) == 0) order.push_back(plot);
      EXPECT_LE(order.size(), before + 1);
      QApplication::processEvents();
      return order.size() == count;
    };
    QElapsedTimer patience;
    patience.start();
    while (!turn() && !patience.hasExpired(20'000)) continue;
    EXPECT_EQ(order.size(), count);
    return order;
  }

  std::unique_ptr<PlotView> plots_[kPlots];
};

TEST_F(DrawQueueTest, draws_one_in_a_turn_in_the_order_they_asked) {
  for (const std::size_t plot : {2, 0, 3, 1}) grow(plot);
  for (const std::size_t plot : {2, 0, 2, 3, 0, 1}) DrawQueue::instance().ask(plots_[plot].get());
  EXPECT_THAT(watch(kPlots), testing::ElementsAre(2, 0, 3, 1));
}

TEST_F(DrawQueueTest, passes_over_who_is_gone) {
  for (const std::size_t plot : {2, 0, 1}) {
    grow(plot);
    DrawQueue::instance().ask(plots_[plot].get());
  }
  plots_[0].reset();
  EXPECT_THAT(watch(2), testing::ElementsAre(2, 1));
}

// Charts on one page all change at once. Hidden ones, as above, ask for nothing.
TEST_F(DrawQueueTest, is_what_charts_wait_in_when_their_points_come) {
  for (const auto& plot : plots_) {
    plot->show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(plot.get()));
  }
  for (std::size_t plot = 0; plot < kPlots; ++plot) grow(plot);
  EXPECT_THAT(watch(kPlots), testing::UnorderedElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace trainyard::ui
