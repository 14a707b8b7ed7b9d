// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot_view.h"

#include <QEvent>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "ui/charts/plot_legend.h"
#include "ui/model/runs/work_scheduler.h"
#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {
namespace {

constexpr int kFrameMilliseconds = 50;
constexpr int kLegendPart = 4;  // the legend takes at most this fraction (1/4) of the height

Span part(Span span, double from, double to) {
  return {span.low + from * span.width(), span.low + to * span.width()};
}

}  // namespace

PlotView::PlotView(QWidget* parent)
    : QWidget(parent), canvas_(new PlotCanvas(this)), legend_(new PlotLegend(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 4, 8, 4);
  column->setSpacing(2);
  build_header();
  column->addWidget(canvas_, 1);
  column->addWidget(legend_);
  set_empty_text(tr("No points yet: press Run"));
  timer_.setSingleShot(true);
  timer_.setInterval(kFrameMilliseconds);
  connect(&timer_, &QTimer::timeout, this,
          [this] { WorkScheduler::instance().ask(this, Work::drawing, [this] { refresh(); }); });
  connect(legend_, &PlotLegend::toggled, this, &PlotView::set_series_visible);
  connect_canvas();
  set_crosshair_group(&own_group_);
  setAutoFillBackground(true);
  connect(&Theme::instance(), &Theme::changed, this, &PlotView::restyle);
  restyle();
}

void PlotView::connect_canvas() {
  connect(canvas_, &PlotCanvas::area_changed, this, &PlotView::follow_area);
  connect(canvas_, &PlotCanvas::boxed, this, &PlotView::zoom_to);
  connect(canvas_, &PlotCanvas::wheeled, this, &PlotView::zoom_at);
  connect(canvas_, &PlotCanvas::panned, this, &PlotView::pan);
  connect(canvas_, &PlotCanvas::home_requested, this, &PlotView::home);
  connect(canvas_, &PlotCanvas::hovered, this, &PlotView::hover);
  connect(canvas_, &PlotCanvas::walked, this, &PlotView::walk);
  connect(canvas_, &PlotCanvas::entered, this, [this] { choose_point(group_->x()); });
  connect(canvas_, &PlotCanvas::menu_requested, this, &PlotView::show_menu);
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

void PlotView::set_help(const QString& help) {
  heading_->set_help(help);
  canvas_->setAccessibleDescription(help);
}

void PlotView::set_count_axis(const QString& name) {
  count_name_ = name;
  home();
}

void PlotView::set_empty_text(const QString& text) {
  if (text == empty_text_) return;
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
  drawings_.clear();
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
  drawings_.clear();
  legend_stale_ = true;
  home();
}

void PlotView::append(const QString& id, std::span<const SeriesPoint> points) {
  if (points.empty()) return;
  model_.append(id, points);
  schedule();
}

void PlotView::set_marks(std::vector<PlotMark> marks) {
  if (marks.empty() && marks_.empty()) return;
  marks_ = std::move(marks);
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

void PlotView::set_full_range(bool whole) {
  if (whole_ == whole) return;
  whole_ = whole;
  full_range_action_->setChecked(whole);
  home();
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
  const auto zoom = [&](std::optional<Span>& view, Span shown) {
    const Span wanted = part(shown, at - at * factor, at + (1 - at) * factor);
    if (wanted.width() > 1e-9 * (1 + std::abs(wanted.low))) view = wanted;
  };
  if (!vertical) zoom(zoom_x_, map_.x);
  for (int side : {0, 1})
    if (vertical) zoom(zoom_y_[side], map_.y[side]);
  schedule();
}

void PlotView::pan(const QPointF& by) {
  if (by.x() != 0) zoom_x_ = part(map_.x, by.x(), 1 + by.x());
  if (by.y() != 0)
    for (int side : {0, 1}) zoom_y_[side] = part(map_.y[side], by.y(), 1 + by.y());
  refresh();
}

// Moves the overlay to the new plot area immediately. The lines are generated for the new area at
// the next frame.
void PlotView::follow_area() {
  map_.area = canvas_->plot_area();
  show_overlay();
  schedule();
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

QWidget* PlotView::drag_handle() { return heading_; }

// Returns a size with room for the legend's maximum height and about eight lines of text between
// heading and axis labels. The size does not depend on the content, so that a chart does not change
// its size when a run begins.
QSize PlotView::sizeHint() const {
  const int line = fontMetrics().height();
  return {line * 22, line * 18};
}

QSize PlotView::minimumSizeHint() const {
  const int line = fontMetrics().height();
  return {line * 12, line * 15 / 2};
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

void PlotView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  legend_->set_max_height(height() / kLegendPart);
}

void PlotView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  schedule();
}

}  // namespace trainyard::ui
