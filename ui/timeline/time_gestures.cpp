// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/time_gestures.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/theme/theme.h"
#include "ui/timeline/readout.h"

namespace trainyard::ui {
namespace {

constexpr double kKeyZoom = 0.8, kKeyPan = 0.1;
constexpr int kClick = 6;  // pixels; a shorter drag is a click

}  // namespace

TimeView::TimeView(QWidget* parent) : QAbstractScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::StrongFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  connect(&Theme::instance(), &Theme::changed, this, [this] { restyle(); });
}

double TimeView::fraction(const QPointF& at) const {
  const QRect body = time_body();
  return (at.x() - body.left()) / std::max(body.width(), 1);
}

void TimeView::paint_focus(QPainter& painter) const {
  painter.setPen(QPen(colors_.accent, 1));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
}

void TimeView::paint_band(QPainter& painter) const {
  if (band_.isEmpty()) return;
  QColor wash = colors_.accent;
  wash.setAlpha(40);
  painter.setPen(QPen(colors_.accent, 1));
  painter.setBrush(wash);
  painter.drawRect(band_);
}

void TimeView::paint_readout(QPainter& painter) const {
  if (!reading_.title.isEmpty())
    paint_reading(painter, reading_, pointer_, viewport()->size(), colors_);
}

void TimeView::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::FontChange) restyle();
}

void TimeView::mousePressEvent(QMouseEvent* event) {
  const bool left = event->button() == Qt::LeftButton;
  if (!steers() || (!left && event->button() != Qt::MiddleButton))
    return QAbstractScrollArea::mousePressEvent(event);
  drag_ = !left || event->modifiers() & Qt::ShiftModifier ? Drag::pan : Drag::box;
  pressed_ = last_ = event->position();
  event->accept();
}

void TimeView::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  if (drag_ == Drag::pan) {
    pan(fraction(last_) - fraction(at));
    verticalScrollBar()->setValue(verticalScrollBar()->value() + qRound(last_.y() - at.y()));
  } else if (drag_ == Drag::box) {
    draw_band(at);
  } else {
    read_at(at);
    viewport()->update();
  }
  last_ = at;
}

void TimeView::draw_band(const QPointF& to) {
  const QRectF body = box_body();
  const bool wide = std::abs(to.x() - pressed_.x()) >= kClick;
  band_ =
      wide
          ? QRectF(QPointF(pressed_.x(), body.top()), QPointF(to.x(), body.bottom())).normalized() &
                body
          : QRectF();
  reading_ = {};
  viewport()->update();
}

void TimeView::mouseReleaseEvent(QMouseEvent* event) {
  if (std::exchange(drag_, Drag::none) != Drag::box) return;
  const QRectF band = std::exchange(band_, {});
  viewport()->update();
  if (band.isEmpty()) return click(event->position());
  const auto at = [&](double x) {
    return view_.begin +
           static_cast<Nanoseconds>(fraction({x, 0}) * static_cast<double>(view_.width()));
  };
  show_range({at(band.left()), at(band.right())});
}

void TimeView::mouseDoubleClickEvent(QMouseEvent* event) {
  drag_ = Drag::none;
  if (!steers() || event->button() != Qt::LeftButton) return;
  switch (under(event->position())) {
    case Under::selected: emit plan_requested(); break;
    case Under::nothing: home(); break;
    case Under::another: break;
  }
}

void TimeView::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  const int most = turn.y() != 0 ? turn.y() : turn.x();
  if (event->modifiers() & Qt::ControlModifier)
    zoom_at(std::clamp(fraction(event->position()), 0.0, 1.0), std::pow(1.0015, -most));
  else if (event->modifiers() & Qt::ShiftModifier || std::abs(turn.x()) > std::abs(turn.y()))
    pan(-kKeyPan * most / 120);
  else return QAbstractScrollArea::wheelEvent(event);
  event->accept();
}

bool TimeView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    reading_ = {};
    clear_readout();
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void TimeView::focusInEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusInEvent(event);
  viewport()->update();
}

void TimeView::keyPressEvent(QKeyEvent* event) {
  const bool plain = !(event->modifiers() & (Qt::ControlModifier | Qt::ShiftModifier));
  if (steers() &&
      (steer_by_key(*event) || act_by_key(*event) || (plain && navigate_by_key(event->key()))))
    return event->accept();
  QAbstractScrollArea::keyPressEvent(event);
}

bool TimeView::steer_by_key(const QKeyEvent& event) {
  const bool shift = event.modifiers() & Qt::ShiftModifier;
  switch (event.key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoom_at(0.5, kKeyZoom), true;
    case Qt::Key_Minus: return zoom_at(0.5, 1 / kKeyZoom), true;
    case Qt::Key_0: return home(), true;
    case Qt::Key_Left: return shift ? (pan(-kKeyPan), true) : false;
    case Qt::Key_Right: return shift ? (pan(kKeyPan), true) : false;
    default: return false;
  }
}

}  // namespace trainyard::ui
