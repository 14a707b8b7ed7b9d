// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot_view.h"

#include <QEvent>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <ranges>

#include "ui/charts/plot_legend.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kFrameMilliseconds = 50;
constexpr int kUnthinned = 1 << 30;
constexpr double kPixelsADash = 3;  // dashes of a line that turns more often would look like bursts that are not there

Span part(Span span, double from, double to) { return {span.low + from * span.width(), span.low + to * span.width()}; }

}  // namespace

PlotView::PlotView(QWidget* parent) : QWidget(parent), canvas_(new PlotCanvas(this)), legend_(new PlotLegend(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 4, 8, 4);
  column->setSpacing(2);
  build_header();
  column->addWidget(canvas_, 1);
  column->addWidget(legend_);
  set_empty_text(tr("No points yet: press Run"));
  timer_.setSingleShot(true);
  timer_.setInterval(kFrameMilliseconds);
  connect(&timer_, &QTimer::timeout, this, &PlotView::refresh);
  connect(legend_, &PlotLegend::toggled, this, &PlotView::set_series_visible);
  connect_canvas();
  set_crosshair_group(&own_group_);
  setAutoFillBackground(true);
  connect(&Theme::instance(), &Theme::changed, this, &PlotView::restyle);
  restyle();
}

void PlotView::connect_canvas() {
  connect(canvas_, &PlotCanvas::area_changed, this, &PlotView::schedule);
  connect(canvas_, &PlotCanvas::boxed, this, &PlotView::zoom_to);
  connect(canvas_, &PlotCanvas::wheeled, this, &PlotView::zoom_at);
  connect(canvas_, &PlotCanvas::panned, this, &PlotView::pan);
  connect(canvas_, &PlotCanvas::home_wanted, this, &PlotView::home);
  connect(canvas_, &PlotCanvas::hovered, this, &PlotView::hover);
  connect(canvas_, &PlotCanvas::walked, this, &PlotView::walk);
  connect(canvas_, &PlotCanvas::band_changed, this, &PlotView::show_overlay);
}

void PlotView::set_title(const QString& title, const QString& unit, const QString& right_unit) {
  title_ = title;
  unit_ = unit;
  right_unit_ = right_unit;
  heading_->setText(title);
  canvas_->setAccessibleName(title);
  schedule();
}

void PlotView::set_empty_text(const QString& text) {
  empty_text_ = text;
  schedule();
}

void PlotView::put_series(const QString& id, const SeriesStyle& style) {
  model_.put(id, style);
  legend_stale_ = true;
  schedule();
}

void PlotView::remove_series(const QString& id) {
  model_.remove(id);
  legend_stale_ = true;
  schedule();
}

void PlotView::order_series(const QStringList& ids) {
  model_.order(ids);
  legend_stale_ = true;
  schedule();
}

void PlotView::clear_series() {
  model_.clear();
  legend_stale_ = true;
  home();
}

void PlotView::append(const QString& id, std::span<const SeriesPoint> points) {
  if (points.empty()) return;
  model_.append(id, points);
  schedule();
}

void PlotView::set_series_visible(const QString& id, bool visible) {
  model_.set_visible(id, visible);
  legend_stale_ = true;
  schedule();
}

void PlotView::set_x_axis(XAxis axis) {
  map_.axis = axis;
  home();
}

void PlotView::set_log(bool log) {
  if (map_.log == log) return;
  map_.log = log;
  log_button_->setChecked(log);
  zoom_y_[0] = zoom_y_[1] = {};
  schedule();
  emit log_changed(log);
}

void PlotView::set_smoothing(double weight) {
  model_.set_smoothing(weight);
  schedule();
}

void PlotView::set_frozen(bool frozen) {
  frozen_ = frozen;
  show_overlay();
  if (!frozen) schedule();
}

void PlotView::set_crosshair_group(CrosshairGroup* group) {
  if (group_) disconnect(group_, nullptr, this, nullptr);
  group_ = group;
  connect(group_, &CrosshairGroup::moved, this, &PlotView::show_overlay);
}

void PlotView::home() {
  zoom_x_ = zoom_y_[0] = zoom_y_[1] = {};
  schedule();
}

void PlotView::zoom_to(const QRectF& box) {
  zoom_x_ = part(map_.x, box.left(), box.right());
  for (int side : {0, 1}) zoom_y_[side] = part(map_.y[side], box.top(), box.bottom());
  schedule();
}

void PlotView::zoom_at(const QPointF& fraction, double factor, bool vertical) {
  const double at = vertical ? fraction.y() : fraction.x();
  const auto zoomed = [&](Span span) { return part(span, at - at * factor, at + (1 - at) * factor); };
  if (vertical) {
    for (int side : {0, 1}) zoom_y_[side] = zoomed(map_.y[side]);
  } else if (const Span wanted = zoomed(map_.x); wanted.width() > 1e-9 * (1 + std::abs(wanted.low))) {
    zoom_x_ = wanted;
  }
  schedule();
}

void PlotView::pan(const QPointF& by) {
  if (by.x() != 0) zoom_x_ = part(map_.x, by.x(), 1 + by.x());
  if (by.y() != 0)
    for (int side : {0, 1}) zoom_y_[side] = part(map_.y[side], by.y(), 1 + by.y());
  refresh();
}

void PlotView::schedule() {
  if (!timer_.isActive() && isVisible()) timer_.start();
}

void PlotView::refresh() {
  timer_.stop();
  if (legend_stale_) legend_->show_series(model_.series());
  legend_stale_ = false;
  if (frozen_) return show_overlay();
  draw(static_cast<int>(canvas_->plot_area().width()));
}

void PlotView::draw(int pixels) {
  model_.stack();
  choose_spans();
  show_axes();
  map_.area = canvas_->plot_area();
  thinned_ = draw_lines(pixels);
  show_overlay();
}

void PlotView::choose_spans() {
  const auto extent = model_.x_extent(map_.axis);
  const double least = map_.axis == XAxis::step ? 10 : 1;
  map_.x = zoom_x_ ? *zoom_x_ : x_range(extent.value_or(Span{0, least}), least);
  map_.y[0] = side_span(Side::left);
  map_.y[1] = side_span(Side::right);
}

Span PlotView::side_span(Side side) const {
  if (const auto& zoom = zoom_y_[side == Side::left ? 0 : 1]) return *zoom;
  const auto extent = model_.y_extent(map_.axis, map_.x, side, map_.log);
  if (map_.log) return extent ? log_range(*extent) : Span{-1, 0};
  return extent ? value_range(*extent) : Span{0, 1};
}

void PlotView::show_axes() {
  const auto vertical = [&](Side side, const QString& unit) {
    const Span span = map_.y[side == Side::left ? 0 : 1];
    const double greatest = map_.log ? std::pow(10, (span.low + span.high) / 2) : std::max(std::abs(span.low), std::abs(span.high));
    const AxisUnit shown = axis_unit(unit, greatest);
    const auto ticks = map_.log ? log_ticks(span, canvas_->ticks_up(), shown.factor) : linear_ticks(span, canvas_->ticks_up(), shown.factor);
    return AxisState{span, ticks, shown.text, true};
  };
  const AxisUnit across = x_axis_unit(map_.axis, map_.x.width());
  AxisState right = vertical(Side::right, right_unit_);
  right.visible = model_.uses(Side::right);
  canvas_->show_axes({map_.x, linear_ticks(map_.x, canvas_->ticks_across(), across.factor), across.text, true}, vertical(Side::left, unit_), right);
}

void PlotView::draw_one(const PlotSeries& series, int pixels, std::vector<DrawnSeries>& out, bool& thinned) const {
  const bool stacked = series.style.stacked && !map_.log, smooth = !series.smoothed.empty();
  const auto add = [&](const PointSeries& points, bool pale, double width, bool filled) {
    DrawnSeries drawn;
    if (filled) drawn.fill = area_colour(series.style, style_.background);
    drawn.pen = series_pen(series.style, width, pale);
    drawn.diamonds = points.joining() == Joining::never;
    drawn.dot_size = width * (drawn.diamonds ? 5 : 2);
    const bool dense = draw_points(points, map_, series.style.side, pixels, drawn);
    thinned |= dense;
    if (dense || static_cast<double>(drawn.lines.size()) > map_.area.width() / kPixelsADash) drawn.pen.setStyle(Qt::SolidLine);
    out.push_back(std::move(drawn));
  };
  if (smooth && stacked) add(series.smooth_tops, false, style_.line_width * 1.2, true);
  add(stacked ? series.tops : series.points, smooth || series.style.pale, smooth ? 1 : style_.line_width, stacked && !smooth);
  for (const double x : model_.gaps(series, map_.axis, map_.x, pixels, map_.log)) out.back().gaps.push_back(map_.at(x, 1, Side::left).x());
  if (smooth && !stacked) add(series.smoothed, series.style.pale, style_.line_width * 1.2, false);
}

bool PlotView::draw_lines(int pixels) {
  std::vector<DrawnSeries> drawn;
  bool thinned = false;
  for (const auto& series : model_.series() | std::views::reverse)  // what is below is painted over what stands on it
    if (series->visible && series->style.stacked) draw_one(*series, pixels, drawn, thinned);
  for (const bool pale : {true, false})
    for (const auto& series : model_.series())
      if (series->visible && !series->style.stacked && series->style.pale == pale) draw_one(*series, pixels, drawn, thinned);
  canvas_->lines().show(map_.area, std::move(drawn));
  return thinned;
}

void PlotView::render_full(QPainter& painter, const QRectF& target) {
  draw(kUnthinned);
  const qreal line = QFontMetricsF(font()).height() * 1.5;
  painter.fillRect(target, style_.background);
  painter.setPen(style_.text);
  painter.setFont(heading_->font());
  painter.drawText(QRectF(target.left() + 8, target.top(), target.width() - 16, line), Qt::AlignLeft | Qt::AlignVCenter, title_);
  const QRectF below = target.adjusted(0, line, 0, legend_->isVisible() ? -legend_->height() : 0);
  canvas_->render_chart(painter, below);
  painter.translate(target.left() + 8, below.bottom());
  if (legend_->isVisible()) legend_->render(&painter, {}, {}, QWidget::DrawChildren);
  painter.resetTransform();
  refresh();
}

QWidget* PlotView::drag_handle() { return heading_; }

QSize PlotView::sizeHint() const {
  const int line = fontMetrics().height();
  return {line * 22, line * 13 + legend_->sizeHint().height()};
}

void PlotView::restyle() {
  style_ = plot_style(font());
  QPalette ground = palette();
  ground.setColor(QPalette::Window, style_.background);
  setPalette(ground);
  QFont bold = font();
  bold.setBold(true);
  heading_->setFont(bold);
  canvas_->apply_style(style_);
  legend_stale_ = true;
  schedule();
}

void PlotView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) restyle();
}

void PlotView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  schedule();
}

}  // namespace trainyard::ui
