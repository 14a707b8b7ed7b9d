// SPDX-License-Identifier: GPL-3.0-or-later
// Mouse and keyboard input of the model view.
#include <QApplication>
#include <QContextMenuEvent>
#include <QDrag>
#include <QDropEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QScrollBar>
#include <algorithm>

#include "ui/model/document/layer_mime.h"
#include "ui/modelview/model_view.h"

namespace trainyard::ui {
namespace {

// Width of the edge of the view in which a drag scrolls, and distance of each scroll step, in
// pixels.
constexpr int kScrollEdge = 24, kScrollStep = 16;

Nodes range(int a, int b) {
  Nodes nodes;
  for (int n = std::min(a, b); n <= std::max(a, b); ++n) nodes.insert(nodes.end(), n);
  return nodes;
}

}  // namespace

// Selects nodes after a click on one. With Ctrl, toggles that node. With Shift, selects the range
// from the node where the selection began to that node.
void ModelView::click(int node, Qt::KeyboardModifiers modifiers) {
  if (modifiers & Qt::ShiftModifier) return go_to(node, true);
  if (!(modifiers & Qt::ControlModifier)) return go_to(node, false);
  Nodes nodes = selected_;
  if (nodes.erase(node) == 0) nodes.insert(node);
  anchor_ = node;
  select(std::move(nodes), node);
}

void ModelView::go_to(int node, bool extend) {
  if (!extend || anchor_ < 0) anchor_ = node;
  select(range(anchor_, node), node);
}

void ModelView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return QAbstractScrollArea::mousePressEvent(event);
  const QPoint at = event->position().toPoint();
  const int node = node_at(at), group = group_at(at);
  if (group >= 0) {
    const ModelGroup& whole = picture_.groups[static_cast<std::size_t>(group)];
    anchor_ = whole.first;
    return select(range(whole.first, whole.last), whole.first);
  }
  if (node < 0) return select({}, -1);
  pressed_ = at;
  pressed_node_ = node;
  if (!selected_.contains(node) || event->modifiers() & (Qt::ControlModifier | Qt::ShiftModifier)) {
    click(node, event->modifiers());
    pressed_node_ = -1;
  }
}

void ModelView::mouseMoveEvent(QMouseEvent* event) {
  const QPoint at = event->position().toPoint();
  if (pressed_ && event->buttons() & Qt::LeftButton) {
    if ((at - *pressed_).manhattanLength() >= QApplication::startDragDistance()) start_drag();
    return;
  }
  const int row = picture_.nodes.empty() || !scene().body.contains(at)
                      ? -1
                      : geometry_.row_at(rows_point(at).y());
  const int hovered = row < picture_.count() ? row : -1;
  if (hovered != hovered_) viewport()->update();
  hovered_ = hovered;
  viewport()->setCursor(picture_.splits && node_at(at) >= 0 ? Qt::OpenHandCursor : Qt::ArrowCursor);
}

// Selects a node when the mouse button is released over it without a drag. Until then, several
// selected nodes stay selected, so that they can be dragged together.
void ModelView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && pressed_ && pressed_node_ >= 0)
    click(pressed_node_, event->modifiers());
  pressed_.reset();
  pressed_node_ = -1;
}

void ModelView::start_drag() {
  pressed_.reset();
  pressed_node_ = -1;
  if (selected_.empty()) return;
  if (const auto why = fixed(picture_)) return emit refused(refusal_text(*why));
  auto* drag = new QDrag(this);
  drag->setMimeData(to_mime(places_of(picture_, selected_)).release());
  const QRect box = rect_of(current_ >= 0 ? current_ : *selected_.begin());
  drag->setPixmap(viewport()->grab(box & viewport()->rect()));
  drag->exec(Qt::MoveAction | Qt::CopyAction, Qt::MoveAction);
  set_target(-1);
}

void ModelView::wheelEvent(QWheelEvent* event) {
  if (!(event->modifiers() & Qt::ControlModifier)) return QAbstractScrollArea::wheelEvent(event);
  if (event->angleDelta().y() != 0) set_overview(event->angleDelta().y() < 0);
  event->accept();
}

// Handles keys before the actions of the menus do. Those actions would apply to the drawing.
bool ModelView::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride &&
      static_cast<QKeyEvent*>(event)->matches(QKeySequence::SelectAll))
    event->accept();
  return QAbstractScrollArea::event(event);
}

void ModelView::keyPressEvent(QKeyEvent* event) {
  if (picture_.nodes.empty() || !(move_by_key(*event) || navigate_by_key(*event)))
    return QAbstractScrollArea::keyPressEvent(event);
  event->accept();
}

// Moves the selected layers to the next device on the left or right.
bool ModelView::move_by_key(const QKeyEvent& event) {
  const bool left = event.key() == Qt::Key_Left, right = event.key() == Qt::Key_Right;
  if (!(event.modifiers() & Qt::AltModifier) || (!left && !right)) return false;
  if (selected_.empty()) return emit refused(tr("Select a layer first, then move it.")), true;
  if (const auto why = fixed(picture_)) return emit refused(refusal_text(*why)), true;
  const int from = picture_.owners[static_cast<std::size_t>(
      selected_.contains(current_) ? current_ : *selected_.begin())];
  const int to = from + (left ? -1 : 1);
  const bool there = to >= 0 && to < static_cast<int>(picture_.columns.size()) &&
                     picture_.columns[static_cast<std::size_t>(to)].place >= 0;
  if (there) emit move_requested(selected_, to);
  else
    emit refused(left ? tr("This is already the first device.")
                      : tr("This is already the last device."));
  return true;
}

bool ModelView::navigate_by_key(const QKeyEvent& event) {
  const bool extend = event.modifiers() & Qt::ShiftModifier;
  const int last = picture_.count() - 1;
  const int page = std::max(1, geometry_.row_at(scene().body.height()));
  const auto go = [&](int node) { return go_to(std::clamp(node, 0, last), extend), true; };
  if (event.matches(QKeySequence::SelectAll)) return select(range(0, last), current_), true;
  switch (event.key()) {
    case Qt::Key_Up: return go(current_ < 0 ? last : current_ - 1);
    case Qt::Key_Down: return go(current_ + 1);
    case Qt::Key_PageUp: return go(current_ - page);
    case Qt::Key_PageDown: return go(current_ + page);
    case Qt::Key_Home: return go(0);
    case Qt::Key_End: return go(last);
    case Qt::Key_Plus:
    case Qt::Key_Equal: return set_overview(false), true;
    case Qt::Key_Minus: return set_overview(true), true;
    case Qt::Key_0: return set_overview(!overview_), true;
    case Qt::Key_Escape: return selected_.empty() ? false : (select({}, -1), true);
    default: return false;
  }
}

void ModelView::contextMenuEvent(QContextMenuEvent* event) {
  if (picture_.nodes.empty()) return;
  const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
  const int node = by_key ? current_ : node_at(viewport()->mapFromGlobal(event->globalPos()));
  if (node < 0) return;
  if (!selected_.contains(node)) go_to(node, false);
  QMenu menu(this);
  fill_menu(menu);
  menu.exec(by_key ? viewport()->mapToGlobal(rect_of(node).center()) : event->globalPos());
}

void ModelView::fill_menu(QMenu& menu) {
  if (const auto why = fixed(picture_)) {
    menu.addAction(QString::fromStdString(why->what))->setEnabled(false);
    return;
  }
  for (int c = 0; c < static_cast<int>(picture_.columns.size()); ++c) {
    const ModelColumn& column = picture_.columns[static_cast<std::size_t>(c)];
    if (column.place < 0) continue;
    const QString what = column.rank < 0
                             ? tr("Move to %1").arg(column.title.toLower())
                             : tr("Move to rank %1, %2").arg(column.rank).arg(column.title);
    QAction* action = menu.addAction(what, this, [this, c] { emit move_requested(selected_, c); });
    action->setEnabled(std::ranges::any_of(
        selected_, [&](int n) { return picture_.owners[static_cast<std::size_t>(n)] != c; }));
  }
}

void ModelView::dragEnterEvent(QDragEnterEvent* event) {
  if (layers_of_mime(event->mimeData()).isEmpty()) event->ignore();
  else event->acceptProposedAction();
}

void ModelView::set_target(int column) {
  if (column == target_) return;
  target_ = column;
  viewport()->update();
}

// Scrolls while the user drags nodes near an edge of the view.
void ModelView::scroll_near(const QPoint& at) {
  const QRect body = scene().body;
  const auto push = [](QScrollBar& bar, int before, int after) {
    if (before < kScrollEdge) bar.setValue(bar.value() - kScrollStep);
    else if (after < kScrollEdge) bar.setValue(bar.value() + kScrollStep);
  };
  push(*verticalScrollBar(), at.y() - body.top(), body.bottom() - at.y());
  push(*horizontalScrollBar(), at.x() - body.left(), body.right() - at.x());
}

void ModelView::dragMoveEvent(QDragMoveEvent* event) {
  const Nodes nodes = nodes_at(picture_, layers_of_mime(event->mimeData()));
  const QPoint at = event->position().toPoint();
  scroll_near(at);
  const int column = geometry_.column_at(rows_point(at).x());
  const auto owners = moved(picture_, nodes, column);
  const bool fits = !nodes.empty() && column >= 0 && owners.has_value();
  set_target(fits ? column : -1);
  if (fits) return event->acceptProposedAction();
  if (column >= 0 && !owners) emit refused(refusal_text(owners.error()));
  event->ignore();
}

void ModelView::dragLeaveEvent(QDragLeaveEvent* event) {
  set_target(-1);
  event->accept();
}

void ModelView::dropEvent(QDropEvent* event) {
  const Nodes nodes = nodes_at(picture_, layers_of_mime(event->mimeData()));
  const int column = geometry_.column_at(rows_point(event->position().toPoint()).x());
  set_target(-1);
  if (nodes.empty() || column < 0) return event->ignore();
  event->acceptProposedAction();
  setFocus();
  emit move_requested(nodes, column);
}

}  // namespace trainyard::ui
