// SPDX-License-Identifier: GPL-3.0-or-later
// Charts of a sweep over rank counts. They show the speed-up with the ideal line, the efficiency,
// the step time (measured and simulated), and the bytes sent (measured and by formula). Each
// measured run is a marker, and markers are not joined. Rings mark values that were not measured
// (simulated, formula).
#pragma once

#include <map>

#include "core/session/sweep/sweep.h"
#include "ui/charts/chart_scroll.h"

namespace trainyard::ui {

enum class ScalingChart { speed_up, efficiency, step_time, busiest_bytes, all_bytes };

class ScalingCharts : public ChartScroll {
  Q_OBJECT
 public:
  explicit ScalingCharts(QWidget* parent = nullptr);

  void show_sweep(const session::Sweep* sweep);  // null removes all points
  void set_empty_text(const QString& text);
  PlotView& plot(ScalingChart chart) { return *plots_.at(chart); }

 private:
  using Points = std::vector<SeriesPoint>;
  struct Line {
    SeriesStyle style;
    Points points;
  };
  using Lines = std::vector<std::pair<QString, Line>>;  // (id, line), in the order of the legend
  void add(ScalingChart chart, const QString& name, const QString& title, const QString& unit);
  static Lines lines_of(ScalingChart chart, const session::Sweep& sweep);
  void show_lines(ScalingChart chart, const Lines& lines);

  CrosshairGroup crosshair_;
  std::map<ScalingChart, PlotView*> plots_;
};

}  // namespace trainyard::ui
