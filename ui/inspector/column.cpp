// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/column.h"

#include <QEvent>
#include <QResizeEvent>
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
}

QSize Column::minimumSizeHint() const {
  return {widget()->minimumSizeHint().width() + style()->pixelMetric(QStyle::PM_ScrollBarExtent), QScrollArea::minimumSizeHint().height()};
}

bool Column::eventFilter(QObject* watched, QEvent* event) {
  if (watched == widget() && event->type() == QEvent::LayoutRequest) updateGeometry();
  return QScrollArea::eventFilter(watched, event);
}

Head::Head(QWidget* content, QWidget* parent) : Column(content, parent) { setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum); }

QSize Head::sizeHint() const {
  const int height = widget()->hasHeightForWidth() ? widget()->heightForWidth(width()) : widget()->sizeHint().height();
  return {Column::sizeHint().width(), height};
}

QSize Head::minimumSizeHint() const { return {Column::minimumSizeHint().width(), std::min(sizeHint().height(), fontMetrics().lineSpacing() * kHeadLines)}; }

void Head::resizeEvent(QResizeEvent* event) {
  Column::resizeEvent(event);
  if (event->oldSize().width() != width()) updateGeometry();
}

}  // namespace trainyard::ui
