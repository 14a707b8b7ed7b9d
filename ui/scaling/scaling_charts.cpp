// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/scaling/scaling_charts.h"

#include <algorithm>
#include <functional>

namespace trainyard::ui {
namespace {

using session::Scaled;
using session::SweepVariant;
using Figure = std::function<std::optional<double>(const SweepVariant&, const Scaled&)>;

// Two values that a chart shows for a variant: the measured value, and a value to compare it with
// (ideal, simulated or computed by formula).
struct ChartedFigures {
  Figure measured;
  Figure beside = {};
  QString beside_words = {};
};

ChartedFigures charted(ScalingChart chart) {
  switch (chart) {
    case ScalingChart::speed_up:
      return {[](const SweepVariant&, const Scaled& s) { return s.speed_up; }};
    case ScalingChart::efficiency:
      return {[](const SweepVariant&, const Scaled& s) { return 100 * s.efficiency; }};
    case ScalingChart::step_time:
      return {[](const SweepVariant& v, const Scaled&) { return v.median_step_seconds; },
              [](const SweepVariant& v, const Scaled&) {
                return v.simulated_step_seconds > 0 ? std::optional(v.simulated_step_seconds)
                                                    : std::nullopt;
              },
              ScalingCharts::tr("%1, simulated as drawn")};
    case ScalingChart::busiest_bytes:
      return {[](const SweepVariant&, const Scaled& s) { return s.busiest_step_bytes; },
              [](const SweepVariant&, const Scaled& s) { return s.formula_busiest_step_bytes; },
              ScalingCharts::tr("%1, formula")};
    case ScalingChart::all_bytes:
      return {[](const SweepVariant&, const Scaled& s) { return s.step_bytes; },
              [](const SweepVariant&, const Scaled& s) { return s.formula_step_bytes; },
              ScalingCharts::tr("%1, formula")};
  }
  return {};
}

// Returns the id of the series that contains a variant. Variants with one rank use no algorithm, so
// they have a separate series and color.
QString id_of(const SweepVariant& one) {
  return one.ranks == 1 ? "alone"
                        : QString::fromStdString(std::string(base::name_of(one.algorithm)));
}
QString name_of(const SweepVariant& one) {
  return one.ranks == 1 ? ScalingCharts::tr("1 rank") : id_of(one);
}

// Returns the style of a variant's series. It depends only on the algorithm, so an algorithm looks
// the same in every sweep. Colors repeat after eight algorithms, and markers after five. No two
// algorithms share both, and algorithms with similar colors have different markers.
SeriesStyle style_of(const SweepVariant& one) {
  SeriesStyle style{
      .label = name_of(one), .color = kTextColor, .dashed = false, .joining = Joining::never};
  if (one.ranks == 1) return style;
  style.color = static_cast<int>(one.algorithm);
  style.marker = static_cast<Marker>((style.color + style.color / kMarkers) % kMarkers);
  return style;
}

SeriesPoint point(std::int64_t ranks, double value) {
  return {static_cast<double>(ranks), static_cast<double>(ranks), static_cast<double>(ranks),
          value};
}

// Returns the range of rank counts over which the ideal line is drawn: from the baseline to the
// maximum.
std::optional<std::pair<double, double>> ideal_span(const session::Sweep& sweep) {
  const auto against = session::baseline(sweep);
  if (!against) return {};
  std::int64_t most = 0;
  for (const SweepVariant& one : sweep.variants) most = std::max(most, one.ranks);
  return std::pair(static_cast<double>(sweep.variants[*against].ranks), static_cast<double>(most));
}

}  // namespace

ScalingCharts::ScalingCharts(QWidget* parent) : ChartScroll(new ChartGrid, parent) {
  setAccessibleName(tr("Charts of the sweep"));
  add(ScalingChart::speed_up, "speed_up", tr("Speed-up"), {});
  add(ScalingChart::efficiency, "efficiency", tr("Efficiency"), "%");
  add(ScalingChart::step_time, "step_time", tr("Step time"), "s");
  add(ScalingChart::busiest_bytes, "busiest_bytes", tr("Bytes per step, busiest rank"), "B");
  add(ScalingChart::all_bytes, "all_bytes", tr("Bytes per step, all ranks"), "B");
}

void ScalingCharts::add(ScalingChart chart, const QString& name, const QString& title,
                        const QString& unit) {
  PlotView* plot = plots_[chart] = grid().add(name);
  plot->set_title(title, unit);
  plot->set_count_axis(tr("ranks"));
  plot->set_crosshair_group(&crosshair_);
}

void ScalingCharts::set_empty_text(const QString& text) {
  for (const auto& [chart, plot] : plots_) plot->set_empty_text(text);
}

ScalingCharts::Lines ScalingCharts::lines_of(ScalingChart chart, const session::Sweep& sweep) {
  Lines measured, beside;
  const ChartedFigures what = charted(chart);
  const auto figures = session::scaled(sweep);
  const auto line = [](Lines& lines, const QString& id, const SeriesStyle& style) -> Line& {
    const auto at = std::ranges::find(lines, id, &std::pair<QString, Line>::first);
    return at == lines.end() ? lines.emplace_back(id, Line{style, {}}).second : at->second;
  };
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (!figures[i]) continue;
    const SweepVariant& one = sweep.variants[i];
    const SeriesStyle style = style_of(one);
    if (const auto value = what.measured(one, *figures[i]))
      line(measured, id_of(one), style).points.push_back(point(one.ranks, *value));
    const auto value = what.beside ? what.beside(one, *figures[i]) : std::nullopt;
    if (!value) continue;
    SeriesStyle ring = style;
    ring.hollow = true;
    ring.label = what.beside_words.arg(style.label);
    line(beside, id_of(one) + "/beside", ring).points.push_back(point(one.ranks, *value));
  }
  measured.insert(measured.end(), beside.begin(), beside.end());
  const auto ideal = ideal_span(sweep);
  if (!ideal || (chart != ScalingChart::speed_up && chart != ScalingChart::efficiency))
    return measured;
  const auto [from, to] = *ideal;
  const bool speed = chart == ScalingChart::speed_up;
  const SeriesStyle style{.label = tr("ideal"),
                          .color = kTextColor,
                          .dashed = true,
                          .pale = true,
                          .joining = Joining::always};
  measured.emplace_back("ideal", Line{style,
                                      {{from, from, from, speed ? 1.0 : 100.0},
                                       {to, to, to, speed ? to / from : 100.0}}});
  return measured;
}

// Updates the lines of a chart. Replaces only lines whose points changed. The chart keeps its zoom.
void ScalingCharts::show_lines(ScalingChart chart, const Lines& lines) {
  PlotView& plot = *plots_.at(chart);
  QStringList ids, gone;
  for (const auto& [id, line] : lines) ids << id;
  for (const auto& series : plot.model().series())
    if (!ids.contains(series->id)) gone << series->id;
  for (const QString& id : gone) plot.remove_series(id);
  for (const auto& [id, line] : lines) {
    const PlotSeries* shown = plot.model().find(id);
    bool same = shown && shown->points.size() == line.points.size();
    for (std::size_t i = 0; same && i < line.points.size(); ++i)
      same = shown->points.at(i).step == line.points[i].step &&
             shown->points.value(i) == line.points[i].value;
    if (same && shown->style == line.style) continue;
    const bool visible = !shown || shown->visible;
    if (shown) plot.remove_series(id);
    plot.put_series(id, line.style);
    plot.append(id, line.points);
    plot.set_series_visible(id, visible);
  }
  plot.order_series(ids);
}

void ScalingCharts::show_sweep(const session::Sweep* sweep) {
  for (const auto& [chart, plot] : plots_)
    show_lines(chart, sweep ? lines_of(chart, *sweep) : Lines());
}

}  // namespace trainyard::ui
