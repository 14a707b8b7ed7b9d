// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/flow.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/canvas_text.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {

void stroke(QPainter& painter, const QPainterPath& path, const QPen& pen) {
  if (path.elementCount() != 2) return painter.strokePath(path, pen);
  painter.setPen(pen);
  painter.drawLine(QPointF(path.elementAt(0)), QPointF(path.elementAt(1)));
}

void paint_flow(QPainter& painter, const QPainterPath& path, double bytes_per_second, bool forward,
                double clock_seconds) {
  if (!(bytes_per_second > 0)) return;
  const bool thin = is_tiny(scale_of(painter));
  const double dash = thin ? 8 : 8 / std::min(scale_of(painter), 1.0);
  const double size = std::clamp(std::log10(bytes_per_second) - 2, 0.5, 8.0),
               width = thin ? 1 : 1 + 0.4 * size;
  QPen pen(Theme::instance().colors().accent, width, Qt::CustomDashLine, Qt::FlatCap);
  pen.setCosmetic(thin);
  pen.setDashPattern({dash / width, dash / width});
  pen.setDashOffset((forward ? -1 : 1) * std::fmod(clock_seconds * 2 * dash * size, 2 * dash) /
                    width);
  stroke(painter, path, pen);
}

QPointF offset_point(const QPainterPath& path, double distance) {
  const QLineF along(path.pointAtPercent(0), path.pointAtPercent(1));
  return along.length() > 0 ? QPointF(-along.dy(), along.dx()) / along.length() * distance
                            : QPointF();
}

}  // namespace trainyard::ui
