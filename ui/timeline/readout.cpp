// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/readout.h"

#include <QFontMetrics>
#include <algorithm>

#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr double kScale = 0.92;

}  // namespace

void paint_reading(QPainter& painter, const SpanText& words, const QPointF& pointer,
                   const QSize& widget, const TimelineColors& colors) {
  const QFont font = Theme::instance().font(kScale), strong = Theme::instance().font(kScale, true);
  const QFontMetrics metrics(font), title(strong);
  const int pad = metrics.height() / 2, line = metrics.height();
  int width = title.horizontalAdvance(words.title);
  for (const QString& text : words.lines) width = std::max(width, metrics.horizontalAdvance(text));
  // Adds 2 pixels, because text widths were rounded to whole pixels.
  width = std::min(width + 2, widget.width() - 2 * pad - 2);
  QRect box(0, 0, width + 2 * pad, line * static_cast<int>(words.lines.size() + 1) + 2 * pad);
  const int right = qRound(pointer.x()) + 2 * pad,
            left = qRound(pointer.x()) - 2 * pad - box.width();
  box.moveLeft(right + box.width() < widget.width() ? right : std::max(0, left));
  box.moveTop(std::max(0, std::min(qRound(pointer.y()) + pad, widget.height() - box.height())));
  QColor back = colors.ground;
  back.setAlpha(240);
  painter.setBrush(back);
  painter.setPen(QPen(Theme::instance().colors().border, 1));
  painter.drawRoundedRect(box, 4, 4);
  painter.setPen(colors.text);
  painter.setFont(strong);
  QRect at(box.left() + pad, box.top() + pad, width, line);
  painter.drawText(at, Qt::AlignLeft | Qt::AlignVCenter,
                   title.elidedText(words.title, Qt::ElideRight, width));
  painter.setFont(font);
  for (const QString& text : words.lines) {
    at.translate(0, line);
    painter.drawText(at, Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(text, Qt::ElideRight, width));
  }
}

}  // namespace trainyard::ui
