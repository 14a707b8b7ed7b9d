// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot_canvas.h"

#include <QGraphicsLayout>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QtCharts/QLegend>
#include <algorithm>
#include <cmath>

namespace trainyard::ui {
namespace {

// Two numbers of the layout in Qt Charts. An axis takes at most the fraction kAxisPortion of the
// chart. kAxisPadding is the 10 pixels around its labels and title, plus 4 because heights are
// rounded.
constexpr double kAxisPortion = 0.4;
constexpr int kAxisPadding = 14;

QCategoryAxis* add_axis(QChart& chart, Qt::Alignment side) {
  auto* axis = new QCategoryAxis;
  axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  axis->setTruncateLabels(false);
  axis->setTitleVisible(false);
  chart.addAxis(axis, side);
  return axis;
}

void style_axis(QCategoryAxis& axis, const PlotStyle& style) {
  const QFont small = scaled(style.font, 0.88);
  axis.setLabelsFont(small);
  axis.setTitleFont(small);
  axis.setLabelsColor(style.muted);
  axis.setTitleBrush(style.muted);
  axis.setLinePen(QPen(style.muted, 1));
  axis.setGridLinePen(QPen(style.grid, 1));
}

bool same(const AxisState& a, const AxisState& b) {
  const auto same_tick = [](const Tick& p, const Tick& q) {
    return p.at == q.at && p.label == q.label;
  };
  return a.range.low == b.range.low && a.range.high == b.range.high && a.title == b.title &&
         a.visible == b.visible && std::ranges::equal(a.ticks, b.ticks, same_tick);
}

}  // namespace

PlotCanvas::PlotCanvas(QWidget* parent) : QChartView(parent), chart_(new QChart) {
  setChart(chart_);
  chart_->setAnimationOptions(QChart::NoAnimation);
  chart_->legend()->hide();
  chart_->layout()->setContentsMargins(0, 0, 0, 0);
  chart_->setBackgroundRoundness(0);
  chart_->setDropShadowEnabled(false);
  x_ = add_axis(*chart_, Qt::AlignBottom);
  left_ = add_axis(*chart_, Qt::AlignLeft);
  right_ = add_axis(*chart_, Qt::AlignRight);
  right_->setGridLineVisible(false);
  right_->setVisible(false);
  lines_ = new PlotLines(chart_);
  overlay_ = new PlotOverlay(chart_);
  lines_->setZValue(10);
  overlay_->setZValue(20);
  setFrameShape(QFrame::NoFrame);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(160, 90);
  connect(chart_, &QChart::plotAreaChanged, this, &PlotCanvas::follow_area);
}

void PlotCanvas::follow_area(const QRectF& area) {
  lines_->move_to(area);
  emit area_changed();
}

void PlotCanvas::apply_style(const PlotStyle& style) {
  chart_->setBackgroundBrush(style.background);
  chart_->setBackgroundPen(Qt::NoPen);
  chart_->setMargins(QMargins(0, static_cast<int>(badge_strip(style)),
                              3 * QFontMetrics(style.font).averageCharWidth(), 0));
  setBackgroundBrush(style.background);
  for (QCategoryAxis* axis : {x_, left_, right_}) style_axis(*axis, style);
}

void PlotCanvas::show_axis(QCategoryAxis& axis, AxisState& shown, const AxisState& wanted) {
  if (same(shown, wanted)) return;
  shown = wanted;
  axis.setVisible(wanted.visible);
  if (!wanted.visible) return;
  const QStringList old = axis.categoriesLabels();
  for (const QString& label : old) axis.remove(label);
  axis.setStartValue(wanted.range.low);
  for (const Tick& tick : wanted.ticks) axis.append(tick.label, tick.at);
  axis.setRange(wanted.range.low, wanted.range.high);
  axis.setTitleText(wanted.title);
  axis.setTitleVisible(!wanted.title.isEmpty());
}

void PlotCanvas::show_axes(const AxisState& x, const AxisState& left, const AxisState& right) {
  show_axis(*x_, shown_x_, x);
  show_axis(*left_, shown_left_, left);
  show_axis(*right_, shown_right_, right);
}

int PlotCanvas::ticks_across() const {
  const double label = QFontMetricsF(x_->labelsFont()).horizontalAdvance("00,000.0") * 1.4;
  return std::clamp(static_cast<int>(plot_area().width() / label), 1, 12);
}

int PlotCanvas::ticks_up() const {
  const double label = QFontMetricsF(left_->labelsFont()).height() * 2.2;
  return std::clamp(static_cast<int>(plot_area().height() / label), 2, 8);
}

bool PlotCanvas::x_title_fits(const QString& title) const {
  const QFontMetricsF labels(x_->labelsFont()), words(x_->titleFont());
  const QMargins margins = chart_->margins();
  const double room = kAxisPortion * (height() - margins.top() - margins.bottom());
  const bool too_wide =
      !plot_area().isEmpty() && words.horizontalAdvance(title) >= plot_area().width();
  return !too_wide && labels.lineSpacing() + words.lineSpacing() + kAxisPadding <= room;
}

// Renders the chart. Changed axes are laid out first, because Qt Charts would lay them out only
// when it handles its next events.
void PlotCanvas::render_chart(QPainter& painter, const QRectF& target) {
  chart_->layout()->activate();
  scene()->render(&painter, target, sceneRect());
}

QPointF PlotCanvas::fraction(const QPointF& at) const {
  const QRectF area = plot_area();
  if (area.isEmpty()) return {};
  return {(at.x() - area.left()) / area.width(), (area.bottom() - at.y()) / area.height()};
}

// Shows the text of the marks under the pointer as a tool tip.
bool PlotCanvas::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QChartView::viewportEvent(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString text = overlay_->marks_at(help->pos());
  text.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), text, this);
  return true;
}

void PlotCanvas::mousePressEvent(QMouseEvent* event) {
  if (!plot_area().contains(event->position())) return QChartView::mousePressEvent(event);
  const bool pan = event->button() == Qt::MiddleButton ||
                   (event->button() == Qt::LeftButton && event->modifiers() & Qt::ShiftModifier);
  if (event->button() != Qt::LeftButton && !pan) return QChartView::mousePressEvent(event);
  drag_ = pan ? Drag::pan : Drag::box;
  pressed_ = last_ = event->position();
  event->accept();
}

void PlotCanvas::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  if (drag_ == Drag::pan) {
    emit panned(fraction(last_) - fraction(at));
  } else if (drag_ == Drag::box) {
    band_ = QRectF(pressed_, at).normalized() & plot_area();
    emit band_changed();
  } else {
    const QPointF here = fraction(at);
    emit hovered(plot_area().contains(at) ? std::optional(here.x()) : std::nullopt);
  }
  last_ = at;
  event->accept();
}

void PlotCanvas::finish_box(const QPointF& at) {
  const QRectF box = QRectF(pressed_, at).normalized() & plot_area();
  band_ = {};
  emit band_changed();
  if (box.width() < 6 || box.height() < 6) return;  // the drag was a click
  const QPointF low = fraction(box.bottomLeft()), high = fraction(box.topRight());
  emit boxed(QRectF(low.x(), low.y(), high.x() - low.x(), high.y() - low.y()));
}

void PlotCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (drag_ == Drag::box) finish_box(event->position());
  drag_ = Drag::none;
  event->accept();
}

void PlotCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  drag_ = Drag::none;
  emit home_requested();
  event->accept();
}

void PlotCanvas::leaveEvent(QEvent* event) {
  emit hovered(std::nullopt);
  QChartView::leaveEvent(event);
}

// Zooms only if Ctrl is pressed. Other wheel events are left to the parent, because charts are in a
// scroll area.
void PlotCanvas::wheelEvent(QWheelEvent* event) {
  if (!(event->modifiers() & Qt::ControlModifier)) return event->ignore();
  const int turn = event->angleDelta().y() != 0 ? event->angleDelta().y() : event->angleDelta().x();
  emit wheeled(fraction(event->position()), std::pow(1.0015, -turn),
               event->modifiers() & Qt::ShiftModifier);
  event->accept();
}

void PlotCanvas::contextMenuEvent(QContextMenuEvent* event) {
  emit menu_requested(event->globalPos());
  event->accept();
}

void PlotCanvas::keyPressEvent(QKeyEvent* event) {
  const bool shift = event->modifiers() & Qt::ShiftModifier;
  switch (event->key()) {
    case Qt::Key_Home: return emit home_requested();
    case Qt::Key_Plus:
    case Qt::Key_Equal: return emit wheeled({0.5, 0.5}, 0.8, false);
    case Qt::Key_Minus: return emit wheeled({0.5, 0.5}, 1.25, false);
    case Qt::Key_Left: return shift ? emit panned({-0.1, 0}) : emit walked(-1);
    case Qt::Key_Right: return shift ? emit panned({0.1, 0}) : emit walked(1);
    case Qt::Key_Return:
    case Qt::Key_Enter: return emit entered();
    case Qt::Key_Escape: return emit hovered(std::nullopt);
    default: return QChartView::keyPressEvent(event);
  }
}

}  // namespace trainyard::ui
