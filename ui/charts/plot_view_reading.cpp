// SPDX-License-Identifier: GPL-3.0-or-later
// Overlay text of a plot: badges, and the readings at the crosshair.
#include <algorithm>
#include <cmath>

#include "ui/charts/plot_view.h"
#include "ui/model/text/count_text.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr std::size_t kReadingRows = 12;

}  // namespace

QStringList PlotView::current_badges() const {
  QStringList badges;
  if (frozen_) badges << tr("frozen");
  if (thinned_) badges << tr("thinned, min/max kept");
  const std::size_t bad = model_.skipped(false);
  if (bad > 0) badges << tr("%1 nan or inf not drawn").arg(grouped(static_cast<std::int64_t>(bad)));
  if (map_.log)
    if (const std::size_t low = model_.skipped(true) - bad; low > 0)
      badges << tr("%1 values ≤ 0 not drawn").arg(grouped(static_cast<std::int64_t>(low)));
  for (const Side side : {Side::left, Side::right})
    if (const auto most = beyond_[side == Side::left ? 0 : 1]) {
      const AxisUnit shown = axis_unit(side == Side::left ? unit_ : right_unit_, *most);
      badges << tr("▴ up to %1 %2")
                    .arg(number_text(*most / shown.factor),
                         shown.factor == 1 ? QString() : shown.text)
                    .trimmed();
    }
  if (map_.log && std::ranges::any_of(model_.series(),
                                      [](const auto& series) { return series->style.stacked; }))
    badges << tr("log scale: lines are not stacked");
  return badges;
}

std::vector<PlotOverlay::Mark> PlotView::drawn_marks() const {
  std::vector<PlotOverlay::Mark> drawn;
  if (model_.empty()) return drawn;
  for (const PlotMark& mark : marks_)
    if (const double x = mark.at.on(map_.axis); x >= map_.x.low && x <= map_.x.high)
      drawn.push_back({map_.at(x, 1, Side::left).x(), mark.glyph,
                       mark.color < 0 ? Theme::instance().colors().text
                                      : Theme::instance().series_color(mark.color),
                       mark.text});
  return drawn;
}

void PlotView::show_overlay() {
  PlotOverlay::Content content;
  content.marks = drawn_marks();
  content.badges = current_badges();
  content.band = canvas_->band();
  if (model_.empty())
    content.empty =
        model_.series().empty() || std::ranges::any_of(model_.series(), &PlotSeries::visible)
            ? empty_text_
            : tr("All lines are hidden");
  if (group_->x()) read_at(*group_->x(), content);
  canvas_->overlay().show(map_.area, style_, std::move(content));
}

QString PlotView::text_of(const Reading& reading, double x) const {
  const QString own_unit = reading.style.side == Side::left ? unit_ : right_unit_;
  const AxisUnit shown = axis_unit(own_unit, std::abs(reading.point.value));
  QString text = tr("%1: %2 %3")
                     .arg(reading.style.label, number_text(reading.point.value / shown.factor),
                          own_unit.contains(' ') ? QString() : shown.text)
                     .trimmed();
  if (reading.smoothed)
    text += tr(" (smoothed %1)").arg(number_text(*reading.smoothed / shown.factor));
  if (const double own = reading.point.on(map_.axis); own != x)
    text += tr(" at %1").arg(number_text(own / across_unit().factor));
  return text;
}

// Returns the text for the sum of the stack at the crosshair. Returns nothing if the stack has only
// one series there.
std::optional<QString> PlotView::sum_of(const std::vector<Reading>& readings) const {
  const auto sum = readings.empty() ? std::nullopt : model_.stack_sum(readings.front().point.step);
  if (!sum || sum->second <= 1) return {};
  const AxisUnit shown = axis_unit(unit_, std::abs(sum->first));
  return tr("total: %1 %2").arg(number_text(sum->first / shown.factor), shown.text).trimmed();
}

void PlotView::read_at(double x, PlotOverlay::Content& content) const {
  if (x < map_.x.low || x > map_.x.high) return;
  content.x = map_.at(x, 1, Side::left).x();
  const AxisUnit unit = across_unit();
  content.heading = unit.text + " " + number_text(x / unit.factor);
  const double tolerance = 6 * map_.x.width() / std::max(map_.area.width(), 1.0);
  const auto readings = model_.readings(map_.axis, x, tolerance, map_.log);
  const auto sum = sum_of(readings);
  const std::size_t room =
      std::min(kReadingRows, reading_rows(map_.area, style_.font)) - (sum ? 1 : 0);
  // If some readings do not fit, the last row shows how many are omitted.
  const std::size_t shown =
      readings.size() <= room ? readings.size() : std::max<std::size_t>(room, 2) - 1;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Reading& reading = readings[i];
    if (i < shown) content.rows.push_back({reading.style, text_of(reading, x)});
    const bool drawable = std::isfinite(reading.drawn) && (!map_.log || reading.point.value > 0);
    const QPointF at = drawable
                           ? map_.at(reading.point.on(map_.axis), reading.drawn, reading.style.side)
                           : QPointF(-1, -1);
    if (map_.area.contains(at)) content.points.emplace_back(at, color_of(reading.style));
  }
  if (sum) content.rows.push_back({{}, *sum});
  if (shown < readings.size())
    content.rows.push_back({{}, tr("and %1 more").arg(readings.size() - shown)});
}

// Moves the crosshair to the logged point nearest to the pointer.
void PlotView::hover(std::optional<double> fraction) {
  group_->set_x(fraction ? model_.nearest_x(map_.axis, map_.x.low + *fraction * map_.x.width())
                         : std::nullopt);
}

void PlotView::walk(int points) {
  const auto start = model_.nearest_x(map_.axis, group_->x().value_or(map_.x.high));
  if (!start) return;
  for (const auto& series : model_.series()) {
    if (!series->visible || series->points.empty()) continue;
    const std::size_t here = series->points.nearest(map_.axis, *start);
    const auto next =
        std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(here) + points, 0,
                                   static_cast<std::ptrdiff_t>(series->points.size()) - 1);
    return group_->set_x(series->points.x(map_.axis, static_cast<std::size_t>(next)));
  }
}

}  // namespace trainyard::ui
