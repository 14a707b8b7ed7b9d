// SPDX-License-Identifier: GPL-3.0-or-later
// Computes axes and lines of a plot, and renders it for export.

#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <optional>

#include "ui/charts/plot_legend.h"
#include "ui/charts/plot_view.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {
namespace {

constexpr int kUnthinned = 1 << 30;
constexpr double kBesideBars = 0.1;  // margin beside bars, in steps
// A line is dashed only if its segments (between neighboring points) are on average at least this
// many pixels long. On shorter segments, dashes would look like bursts of values.
constexpr double kPixelsADash = 3;

// Moves the range `view` into the range `home`. Returns nothing if `view` is at least as wide as
// `home`.
std::optional<Span> kept_within(std::optional<Span> view, Span home) {
  if (!view || view->width() >= home.width()) return {};
  const double low = std::clamp(view->low, home.low, std::max(home.low, home.high - view->width()));
  return Span{low, low + view->width()};
}

}  // namespace

void PlotView::draw(int pixels) {
  model_.stack();
  choose_spans();
  show_axes();
  map_.area = canvas_->plot_area();
  draw_lines(pixels);
  show_overlay();
}

// Returns the range in x of all points and marks.
std::optional<Span> PlotView::across() const {
  auto extent = model_.x_extent(map_.axis);
  for (const PlotMark& mark : marks_)
    if (const double x = mark.at.on(map_.axis); extent && std::isfinite(x))
      extent = Span{std::min(extent->low, x), std::max(extent->high, x)};
  return extent;
}

void PlotView::choose_spans() {
  const auto extent = across();
  const double least = count_name_.isEmpty() ? min_width(map_.axis) : 1;
  const Span wanted = extent.value_or(Span{0, least});
  const double beside = model_.has_bars() ? kHalfBar + kBesideBars : 0;
  const Span home =
      x_range(count_name_.isEmpty() ? wanted : Span{-beside, wanted.high + beside}, least);
  zoom_x_ = kept_within(zoom_x_, home);
  map_.x = zoom_x_.value_or(home);
  for (const Side side : {Side::left, Side::right}) {
    const std::size_t at = side == Side::left ? 0 : 1;
    if (zoom_y_[at]) zoom_y_[at] = kept_within(zoom_y_[at], side_span(side, home));
    map_.y[at] = zoom_y_[at] ? *zoom_y_[at] : side_span(side, map_.x);
    beyond_[at] = zoom_y_[at] ? std::nullopt : above(side);
  }
}

std::optional<double> PlotView::above(Side side) const {
  const auto extent = map_.log ? std::nullopt : model_.y_extent(map_.axis, map_.x, side, false);
  return extent && extent->high > map_.y[side == Side::left ? 0 : 1].high
             ? std::optional(extent->high)
             : std::nullopt;
}

// Returns the range of the y axis for all values within the range `x`. Unless the full range is
// requested, values beyond `AxisLimit` are cut off.
Span PlotView::side_span(Side side, Span x) const {
  const auto extent = map_.log || whole_ ? model_.y_extent(map_.axis, x, side, map_.log)
                                         : model_.y_reach(map_.axis, x, side);
  if (map_.log) return extent ? log_range(*extent) : Span{-1, 0};
  return extent ? value_range(*extent) : Span{0, 1};
}

void PlotView::show_axes() {
  const auto vertical = [&](Side side, const QString& unit) {
    const Span span = map_.y[side == Side::left ? 0 : 1];
    const double greatest = map_.log ? std::pow(10, (span.low + span.high) / 2)
                                     : std::max(std::abs(span.low), std::abs(span.high));
    const AxisUnit shown = axis_unit(unit, greatest);
    const auto ticks = map_.log ? log_ticks(span, canvas_->ticks_up(), shown.factor)
                                : linear_ticks(span, canvas_->ticks_up(), shown.factor);
    return AxisState{span, ticks, shown.text, true};
  };
  const AxisUnit across = across_unit();
  AxisState right = vertical(Side::right, right_unit_);
  right.visible = model_.uses(Side::right);
  const QString title = canvas_->x_title_fits(across.text) ? across.text : QString();
  std::vector<Tick> ticks = linear_ticks(map_.x, canvas_->ticks_across(), across.factor);
  if (!count_name_.isEmpty()) {
    std::erase_if(ticks, [](const Tick& tick) { return tick.at != std::floor(tick.at); });
    // Removes ".0" from tick labels. Labels have decimals if some ticks between integers were
    // removed.
    for (Tick& tick : ticks) tick.label.remove(QRegularExpression("\\.0+$"));
  }
  canvas_->show_axes({map_.x, ticks, title, true}, vertical(Side::left, unit_), right);
}

AxisUnit PlotView::across_unit() const {
  const AxisUnit unit = x_axis_unit(map_.axis, map_.x.width());
  return map_.axis == XAxis::step && !count_name_.isEmpty() ? AxisUnit{1, count_name_} : unit;
}

void PlotView::draw_one(const PlotSeries& series, int pixels, std::vector<DrawnSeries>& out) {
  const bool stacked = series.style.stacked && !map_.log, smooth = !series.smoothed.empty();
  const auto add = [&](const PointSeries& points, bool raw, double width, bool filled) {
    DrawnSeries look;
    if (filled) look.fill = area_color(series.style, style_.background);
    look.pen = series_pen(series.style, width, raw);
    const bool marked = points.joining() == Joining::never;
    look.marker = marked ? series.style.marker : Marker::circle;
    look.hollow = series.style.hollow;
    look.marks_beyond = beyond_[series.style.side == Side::left ? 0 : 1].has_value();
    look.dot_size = width * (look.hollow ? 9 : marked ? 5 : 2);
    LineDrawing& drawing = drawings_[&points];
    out.push_back(drawing.draw(points, series.revision, map_, series.style.side, pixels, look));
    thinned_ |= drawing.thinned();
    if (drawing.thinned() ||
        static_cast<double>(out.back().lines.size()) > map_.area.width() / kPixelsADash)
      out.back().pen.setStyle(Qt::SolidLine);
  };
  if (stacked && is_bars(series.style)) {
    DrawnSeries look;
    look.fill = color_of(series.style);
    out.push_back(draw_bars(series.tops, map_, series.style.side, look));
    return;
  }
  if (smooth && stacked) add(series.smooth_tops, false, style_.line_width * 1.2, true);
  add(stacked ? series.tops : series.points, smooth, smooth ? 1 : style_.line_width,
      stacked && !smooth);
  for (const double x : model_.gaps(series, map_.axis, map_.x, pixels, map_.log))
    out.back().gaps.push_back(map_.at(x, 1, Side::left).x());
  if (smooth && !stacked) add(series.smoothed, false, style_.line_width * 1.2, false);
}

void PlotView::draw_lines(int pixels) {
  std::vector<DrawnSeries> drawn;
  thinned_ = false;
  const auto& all = model_.series();
  for (auto at = all.rbegin(); at != all.rend();
       ++at)  // upper series of a stack first, because lower ones are painted over them
    if ((*at)->visible && (*at)->style.stacked) draw_one(**at, pixels, drawn);
  for (const bool pale : {true, false})
    for (const auto& series : all)
      if (series->visible && !series->style.stacked && series->style.pale == pale)
        draw_one(*series, pixels, drawn);
  canvas_->lines().show(map_.area, std::move(drawn));
}

QSize PlotView::full_size() const {
  return size() + QSize(0, legend_->isVisible() ? legend_->full_height() - legend_->height() : 0);
}

void PlotView::render_full(QPainter& painter, const QRectF& target) {
  draw(kUnthinned);
  const qreal line = QFontMetricsF(font()).height() * 1.5;
  painter.fillRect(target, style_.background);
  painter.setPen(style_.text);
  painter.setFont(heading_->font());
  painter.drawText(QRectF(target.left() + 8, target.top(), target.width() - 16, line),
                   Qt::AlignLeft | Qt::AlignVCenter, title_);
  const QRectF below =
      target.adjusted(0, line, 0, legend_->isVisible() ? -legend_->full_height() : 0);
  canvas_->render_chart(painter, below);
  painter.translate(target.left() + 8, below.bottom());
  if (legend_->isVisible()) legend_->render_full(painter);
  painter.resetTransform();
  refresh();
}

}  // namespace trainyard::ui
