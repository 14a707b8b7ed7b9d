// SPDX-License-Identifier: GPL-3.0-or-later
// Mouse, wheel and keyboard input of the canvas.
#include <QKeyEvent>
#include <QScrollBar>
#include <cmath>

#include "ui/canvas/navigation.h"
#include "ui/canvas/topology_view.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

QPointF direction_of(int key) {
  switch (key) {
    case Qt::Key_Left: return {-1, 0};
    case Qt::Key_Right: return {1, 0};
    case Qt::Key_Up: return {0, -1};
    case Qt::Key_Down: return {0, 1};
    default: return {};
  }
}

}  // namespace

void TopologyView::mousePressEvent(QMouseEvent* event) {
  setFocus(Qt::MouseFocusReason);
  const QPointF at = scene_point(*event);
  if (event->button() == Qt::MiddleButton || (event->button() == Qt::LeftButton && space_)) {
    panning_ = true;
    pan_from_ = event->position().toPoint();
    viewport()->setCursor(Qt::ClosedHandCursor);
  } else if (event->button() == Qt::LeftButton) {
    begin(object_at(scene_.layout(), at), at, event->modifiers());
  }
}

// Begins the gesture that belongs to the object under the mouse, such as moving it or pulling a
// link from it.
void TopologyView::begin(const TopologyObject& part, QPointF at, Qt::KeyboardModifiers modifiers) {
  const bool linkable = part && part.kind != TopologyObject::Kind::link;
  if (on_port(scene_.layout(), scene_.hovered(), at))
    gesture_ = pull_link(context_, scene_.hovered(), at);
  else if (tool_ == Tool::connect && linkable) gesture_ = pull_link(context_, part, at);
  else if (!part) {
    const bool adding = modifiers & (Qt::ShiftModifier | Qt::ControlModifier);
    if (!adding) selection_.clear();
    scene_.set_current({});
    gesture_ = rubber_band(context_, at, adding);
  } else {
    click(part, modifiers);
    if (part.is_node()) gesture_ = move_nodes(context_, at);
    else if (part.kind == TopologyObject::Kind::device)
      gesture_ = carry_device(context_, part.name, at);
  }
  viewport()->update();
}

// A press on a selected object keeps the selection, so that all of it can be dragged.
void TopologyView::click(const TopologyObject& part, Qt::KeyboardModifiers modifiers) {
  scene_.set_current(part);
  const bool selected = part.kind == TopologyObject::Kind::link ? selection_.contains(part.link)
                                                                : selection_.contains(part.name);
  if (modifiers & (Qt::ShiftModifier | Qt::ControlModifier)) selection_.toggle(selection_of(part));
  else if (!selected) selection_.set(selection_of(part));
}

void TopologyView::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = scene_point(*event);
  if (panning_) {
    const QPoint by = event->position().toPoint() - pan_from_;
    pan_from_ += by;
    horizontalScrollBar()->setValue(horizontalScrollBar()->value() - by.x());
    verticalScrollBar()->setValue(verticalScrollBar()->value() - by.y());
  } else if (gesture_) {
    gesture_->move(at, event->modifiers());
    viewport()->update();
  } else if (!on_port(scene_.layout(), scene_.hovered(), at)) {
    const TopologyObject before = scene_.hovered();
    scene_.set_hovered(object_at(scene_.layout(), at));
    if (before != scene_.hovered()) viewport()->update();
  }
}

void TopologyView::mouseReleaseEvent(QMouseEvent* event) {
  if (panning_) {
    panning_ = false;
    viewport()->setCursor(space_                   ? Qt::OpenHandCursor
                          : tool_ == Tool::connect ? Qt::CrossCursor
                                                   : Qt::ArrowCursor);
  }
  if (!gesture_ || event->button() != Qt::LeftButton) return;
  const std::unique_ptr<Gesture> gesture =
      std::move(gesture_);  // the view may repaint during the edit
  gesture->release(scene_point(*event));
  viewport()->update();
}

void TopologyView::mouseDoubleClickEvent(QMouseEvent* event) {
  const TopologyObject part = object_at(scene_.layout(), scene_point(*event));
  if (event->button() != Qt::LeftButton || !part) return mousePressEvent(event);
  go_to(part);
  rename_current();
}

void TopologyView::leaveEvent(QEvent* event) {
  QGraphicsView::leaveEvent(event);
  scene_.set_hovered({});
  viewport()->update();
}

void TopologyView::wheelEvent(QWheelEvent* event) {
  if (!(event->modifiers() & Qt::ControlModifier)) return QGraphicsView::wheelEvent(event);
  set_zoom(zoom() * std::pow(1.0015, event->angleDelta().y()), event->position().toPoint());
  event->accept();
}

// Tab moves from object to object, and after the last object to the next widget. After Escape, the
// next Tab goes to the next widget immediately.
bool TopologyView::event(QEvent* event) {
  if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) viewport()->update();
  if (event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const int by = key->key() == Qt::Key_Tab ? 1 : key->key() == Qt::Key_Backtab ? -1 : 0;
    const TopologyObject next =
        by != 0 ? next_object(scene_.layout(), scene_.current(), by) : TopologyObject{};
    const TopologyObject end = next_object(scene_.layout(), {}, by);
    if (next && !(scene_.current() && next == end)) return go_to(next), true;
  }
  return QGraphicsView::event(event);
}

void TopologyView::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Space && !event->isAutoRepeat() && !panning_) {
    if (event->modifiers() & Qt::ControlModifier && scene_.current())
      return selection_.toggle(selection_of(scene_.current()));
    space_ = true;
    viewport()->setCursor(Qt::OpenHandCursor);
  } else if (event->key() == Qt::Key_Escape) {
    escape();
  } else if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    rename_current();
  } else if (!navigate_by_key(*event)) {
    QGraphicsView::keyPressEvent(event);
  }
}

void TopologyView::keyReleaseEvent(QKeyEvent* event) {
  if (event->key() != Qt::Key_Space || event->isAutoRepeat())
    return QGraphicsView::keyReleaseEvent(event);
  space_ = false;
  viewport()->setCursor(tool_ == Tool::connect ? Qt::CrossCursor : Qt::ArrowCursor);
}

bool TopologyView::navigate_by_key(const QKeyEvent& event) {
  const Layout& layout = scene_.layout();
  const bool extend = event.modifiers() & Qt::ShiftModifier;
  const QPointF direction = direction_of(event.key());
  if (event.key() == Qt::Key_Home) go_to(next_object(layout, {}, 1));
  else if (event.key() == Qt::Key_End) go_to(next_object(layout, {}, -1));
  else if (direction.isNull()) return false;
  else if (event.modifiers() & Qt::ControlModifier) move_by_key(direction);
  else if (!scene_.current()) go_to(next_object(layout, {}, 1));
  else if (const TopologyObject next = nearest_object(layout, scene_.current(), direction);
           next != scene_.current())
    go_to(next, extend);
  return true;
}

// Moves hosts and switches by one grid step. A single device changes its position among its
// neighbors, and therefore its rank.
void TopologyView::move_by_key(QPointF direction) {
  const std::set<std::string>& names = selection_.picked().names;
  const TopologyObject& current = scene_.current();
  if (current.kind == TopologyObject::Kind::device && names == std::set{current.name}) {
    const int wide =
        columns(host_of(document_.experiment().topology, current.name)->devices.size());
    document_.edit(tr("Move %1").arg(QString::fromStdString(current.name)),
                   [&](experiment::Experiment& e) {
                     shift_device(e.topology, current.name,
                                  static_cast<int>(direction.x() + direction.y() * wide));
                   });
    return;
  }
  QString key = "nudge";
  for (const std::string& name : names) key += "/" + QString::fromStdString(name);
  document_.edit(
      tr("Move"),
      [&](experiment::Experiment& e) {
        move_by(e.topology, names, {direction.x() * kGrid, direction.y() * kGrid});
      },
      key);
}

}  // namespace trainyard::ui
