// SPDX-License-Identifier: GPL-3.0-or-later
// A visible chart of one line.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ui/charts/not_a_number.h"
#include "ui/charts/plot_view.h"

namespace trainyard::ui {

inline std::vector<SeriesPoint> points_of(const std::vector<double>& values,
                                          double first_step = 0) {
  std::vector<SeriesPoint> points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double step = first_step + static_cast<double>(i);
    points.push_back({step, step * 128, step * 0.01, values[i]});
  }
  return points;
}

class PlotViewTest : public testing::Test {
 protected:
  PlotViewTest() {
    plot_.resize(640, 400);
    plot_.show();
    plot_.put_series("a", {.label = "a"});
  }
  void add(const std::vector<double>& values, double first_step = 0) {
    plot_.append("a", points_of(values, first_step));
  }
  std::string all_badges() const { return plot_.badges().join(" | ").toStdString(); }
  const DrawnSeries& drawn(std::size_t index = 0) {
    return plot_.canvas().lines().series().at(index);
  }
  PlotView plot_;
};

}  // namespace trainyard::ui
