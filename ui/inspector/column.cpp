// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/column.h"

#include <QApplication>
#include <QEvent>
#include <QResizeEvent>
#include <QScrollBar>
#include <QStyle>
#include <algorithm>

namespace trainyard::ui {
namespace {

constexpr int kHeadLines = 3;

}  // namespace

Column::Column(QWidget* content, QWidget* parent) : QScrollArea(parent) {
  setWidget(content);
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  connect(qApp, &QApplication::focusChanged, this,
          [this] { run_after_layout(&Column::store_position); });
  // Remembers the position when the user scrolls; the scroll bar then emits actionTriggered.
  connect(verticalScrollBar(), &QScrollBar::actionTriggered, this,
          [this] { run_after_layout(&Column::store_position); });
}

void Column::run_after_layout(void (Column::*what)()) {
  QMetaObject::invokeMethod(this, what, Qt::QueuedConnection);
}

void Column::store_position() {
  QWidget* now = QApplication::focusWidget();
  focused_ = now && widget()->isAncestorOf(now) ? now : nullptr;
  if (focused_) place_ = focused_->mapTo(window(), QPoint()).y();
}

void Column::keep_place() {
  if (focused_ && focused_->isVisible())
    verticalScrollBar()->setValue(verticalScrollBar()->value() +
                                  focused_->mapTo(window(), QPoint()).y() - place_);
}

QSize Column::minimumSizeHint() const {
  return {widget()->minimumSizeHint().width() + style()->pixelMetric(QStyle::PM_ScrollBarExtent),
          QScrollArea::minimumSizeHint().height()};
}

bool Column::eventFilter(QObject* watched, QEvent* event) {
  if (watched == widget() && event->type() == QEvent::LayoutRequest) updateGeometry();
  if (watched == widget() &&
      (event->type() == QEvent::LayoutRequest || event->type() == QEvent::Resize))
    run_after_layout(&Column::keep_place);
  return QScrollArea::eventFilter(watched, event);
}

void Column::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  run_after_layout(&Column::keep_place);
}

Head::Head(QWidget* content, QWidget* parent) : Column(content, parent) {
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
}

// Computes the size as if a vertical scroll bar were present. Without this reserve, a scroll bar
// that appears for a moment would narrow the content. The narrower content would be higher, so that
// the scroll bar would stay. The reserve may leave an empty line.
QSize Head::sizeHint() const {
  const int beside = std::max(width() - style()->pixelMetric(QStyle::PM_ScrollBarExtent), 0);
  const int height = widget()->hasHeightForWidth() ? widget()->heightForWidth(beside)
                                                   : widget()->sizeHint().height();
  return {Column::sizeHint().width(), height};
}

QSize Head::minimumSizeHint() const {
  return {Column::minimumSizeHint().width(),
          std::min(sizeHint().height(), fontMetrics().lineSpacing() * kHeadLines)};
}

void Head::resizeEvent(QResizeEvent* event) {
  Column::resizeEvent(event);
  if (event->oldSize().width() != width()) updateGeometry();
}

}  // namespace trainyard::ui
