// SPDX-License-Identifier: GPL-3.0-or-later
// What mouse and keys do to a timeline.
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/timeline/timeline_view.h"

namespace trainyard::ui {
namespace {

constexpr double kKeyZoom = 0.8, kKeyPan = 0.1;
constexpr int kClick = 6;  // pixels; what moved less is no box

}  // namespace

double TimelineView::fraction(const QPointF& at) const {
  const QRect body = scene().body;
  return (at.x() - body.left()) / std::max(body.width(), 1);
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  const bool left = event->button() == Qt::LeftButton;
  if (!store_ || (!left && event->button() != Qt::MiddleButton)) return QAbstractScrollArea::mousePressEvent(event);
  drag_ = !left || event->modifiers() & Qt::ShiftModifier ? Drag::pan : Drag::box;
  pressed_ = last_ = event->position();
  event->accept();
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  if (drag_ == Drag::pan) {
    pan(fraction(last_) - fraction(at));
    verticalScrollBar()->setValue(verticalScrollBar()->value() + qRound(last_.y() - at.y()));
  } else if (drag_ == Drag::box) {
    const QRect body = scene().body;
    const bool wide = std::abs(at.x() - pressed_.x()) >= kClick;
    band_ = wide ? QRectF(QPointF(pressed_.x(), body.top()), QPointF(at.x(), body.bottom())).normalized() & QRectF(body) : QRectF();
    reading_ = {};
    viewport()->update();
  } else {
    read_at(at);
    viewport()->update();
  }
  last_ = at;
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  const Drag was = std::exchange(drag_, Drag::none);
  if (was == Drag::box) finish_box(event->position());
}

void TimelineView::finish_box(const QPointF& at) {
  const QRectF band = std::exchange(band_, {});
  viewport()->update();
  if (band.isEmpty()) return click(at);
  const Columns columns = scene().columns();
  const double left = scene().body.left();
  show_range({columns.time_at(band.left() - left), columns.time_at(band.right() - left)});
}

// On the band of steps it chooses one; else it selects what is there. What stands together is looked at closer first.
void TimelineView::click(const QPointF& at) {
  const TimelineScene now = scene();
  if (at.x() >= now.body.left() && at.y() < now.body.top()) {
    const std::size_t step = steps_->first_ending_after(now.columns().time_at(at.x() - now.body.left()));
    const auto clicked = step < steps_->steps().size() ? std::optional(steps_->steps()[step].step) : std::nullopt;
    return choose_step(clicked == chosen_step_ ? std::nullopt : clicked);
  }
  const auto place = place_at(at);
  if (place && merged_at(*place, at)) return show_range(zoomed(view_, fraction(at), 0.25));
  select(place, false);
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  drag_ = Drag::none;
  if (!store_ || event->button() != Qt::LeftButton) return;
  const auto place = place_at(event->position());
  if (place && place == selected_) emit plan_wanted();
  else if (!place) home();
}

// A plain wheel scrolls through the ranks.
void TimelineView::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  const int most = turn.y() != 0 ? turn.y() : turn.x();
  if (event->modifiers() & Qt::ControlModifier) zoom_at(std::clamp(fraction(event->position()), 0.0, 1.0), std::pow(1.0015, -most));
  else if (event->modifiers() & Qt::ShiftModifier || std::abs(turn.x()) > std::abs(turn.y())) pan(-kKeyPan * most / 120);
  else return QAbstractScrollArea::wheelEvent(event);
  event->accept();
}

bool TimelineView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    reading_ = {};
    hovered_ = {};
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void TimelineView::focusInEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusInEvent(event);
  viewport()->update();
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  if (!store_ || !store_->extent()) return QAbstractScrollArea::keyPressEvent(event);
  if (steer_by_key(*event) || (!(event->modifiers() & (Qt::ControlModifier | Qt::ShiftModifier)) && walk_by_key(event->key()))) return event->accept();
  QAbstractScrollArea::keyPressEvent(event);
}

bool TimelineView::steer_by_key(const QKeyEvent& event) {
  const bool shift = event.modifiers() & Qt::ShiftModifier, control = event.modifiers() & Qt::ControlModifier;
  switch (event.key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoom_at(0.5, kKeyZoom), true;
    case Qt::Key_Minus: return zoom_at(0.5, 1 / kKeyZoom), true;
    case Qt::Key_0: return home(), true;
    case Qt::Key_F: return set_following(!following_), true;
    case Qt::Key_Left: return shift ? (pan(-kKeyPan), true) : false;
    case Qt::Key_Right: return shift ? (pan(kKeyPan), true) : false;
    case Qt::Key_Home: return control ? (home(), true) : false;
    default: return false;
  }
}

bool TimelineView::walk_by_key(int key) {
  switch (key) {
    case Qt::Key_Left: return walk_along(Walk::previous), true;
    case Qt::Key_Right: return walk_along(Walk::next), true;
    case Qt::Key_Home: return walk_along(Walk::first), true;
    case Qt::Key_End: return walk_along(Walk::last), true;
    case Qt::Key_Up: return walk_to_lane(-1), true;
    case Qt::Key_Down: return walk_to_lane(1), true;
    case Qt::Key_Return:
    case Qt::Key_Enter: return selected_ ? (emit plan_wanted(), true) : false;
    case Qt::Key_Escape: return selected_ || chosen_step_ ? (select({}), choose_step({}), true) : false;
    default: return false;
  }
}

// The first op in the middle of what is seen, from the upper lane on.
void TimelineView::start_walking() {
  const TimelineScene now = scene();
  const Nanoseconds middle = view_.begin + view_.width() / 2;
  for (const LaneRow& row : rows_.rows()) {
    if (now.row_rect(row).top() < now.body.top()) continue;
    if (const auto found = nearest(*store_, held_, row.rank, row.lane, middle)) return select(found);
  }
}

void TimelineView::walk_along(Walk way) {
  if (!selected_ || !span_at(*store_, *selected_)) return start_walking();
  if (const auto found = walk(*store_, held_, *selected_, way)) select(found);
}

// The next one that has ops, at the same time.
void TimelineView::walk_to_lane(int way) {
  const OpSpan* span = selected_ ? span_at(*store_, *selected_) : nullptr;
  if (!span) return start_walking();
  const auto& rows = rows_.rows();
  for (int at = rows_.row_of(selected_->rank, selected_->lane) + way; at >= 0 && at < static_cast<int>(rows.size()); at += way) {
    const LaneRow& row = rows[static_cast<std::size_t>(at)];
    if (const auto found = nearest(*store_, held_, row.rank, row.lane, span->begin + (span->end - span->begin) / 2)) return select(found);
  }
}

}  // namespace trainyard::ui
