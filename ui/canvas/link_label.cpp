// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/link_label.h"

#include <algorithm>
#include <cmath>

#include "ui/canvas/canvas_text.h"
#include "ui/canvas/traffic_text.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr double kLine = 15, kMinVisibleLine = 24;

// Returns "CUT" or "SLOWED to 10 %". Empty if the link runs at its drawn bandwidth.
QString link_fault_text(const LinkAppearance& look) {
  if (look.part >= 1) return {};
  return look.part > 0 ? QObject::tr("SLOWED to %1 %").arg(std::lround(look.part * 100))
                       : QObject::tr("CUT");
}

// Returns the lines about the current traffic. If the link is selected or hovered, each payload
// kind is listed with its direction; otherwise the kinds are listed without directions.
QStringList crossing(const LinkAppearance& look) {
  if (!look.live || look.live->payload.empty()) return {};
  if (look.marks.selected || look.marks.hovered)
    return lines_of_link(*look.live, {look.link.from, look.link.to});
  return {traffic_kinds(*look.live)};
}

QStringList everything(const LinkAppearance& look) {
  QStringList lines;
  if (const QString fault = link_fault_text(look); !fault.isEmpty()) lines << fault;
  if (look.live) lines << QObject::tr("%1, both directions").arg(rate(look.live->total()));
  lines << crossing(look);
  lines << speed_text(look.link.bandwidth_bits_per_second, look.link.latency_seconds);
  if (!look.speeds.isEmpty()) lines << look.speeds;
  return lines;
}

LinkLabel label_with(const QStringList& lines, const LinkShape& shape, const LinkAppearance& look) {
  double width = 0;
  for (int i = 0; i < lines.size(); ++i)
    width = std::max(width, width_of(lines[i], kSmallSize, look.live && i == 0));
  const QSizeF size(width + 16, kLine * static_cast<double>(lines.size()) + 6);
  return {lines, look.live.has_value(),
          QRectF(shape.middle - QPointF(size.width() / 2, size.height() / 2), size)};
}

QPointF along(const LinkShape& shape) {
  return shape.path.pointAtPercent(1) - shape.path.pointAtPercent(0);
}

bool leaves_line_visible(const LinkShape& shape, const QRectF& label) {
  return std::fabs(along(shape).x()) > label.width() + kMinVisibleLine ||
         std::fabs(along(shape).y()) > label.height() + kMinVisibleLine;
}

}  // namespace

LinkLabel link_label(const LinkShape& shape, const LinkAppearance& look) {
  LinkLabel whole = label_with(everything(look), shape, look);
  if (look.marks.selected || look.marks.hovered) return whole;
  if (const QString fault = link_fault_text(look);
      !fault.isEmpty() && (shape.within_host || !leaves_line_visible(shape, whole.rect)))
    return label_with({fault}, shape, look);
  if (shape.within_host) return {};
  if (leaves_line_visible(shape, whole.rect)) return whole;
  if (!look.live || !(look.live->total() > 0)) return {};
  LinkLabel traffic =
      label_with({rate(look.live->total()), QObject::tr("both directions")}, shape, look);
  return std::hypot(along(shape).x(), along(shape).y()) > traffic.rect.width() ? traffic
                                                                               : LinkLabel();
}

void paint_link_label(QPainter& painter, const LinkLabel& label, bool selected) {
  if (is_far(scale_of(painter))) return;
  const Colors& colors = Theme::instance().colors();
  painter.setPen(QPen(selected ? colors.accent : colors.border, 1));
  painter.setBrush(colors.canvas);
  painter.drawRoundedRect(label.rect, 4, 4);
  for (int i = 0; i < label.lines.size(); ++i) {
    const bool measured = label.measured && i == 0;
    write(painter,
          QRectF(label.rect.left(), label.rect.top() + 3 + kLine * i, label.rect.width(), kLine),
          Qt::AlignHCenter, label.lines[i], kSmallSize, measured ? colors.text : colors.dim,
          measured);
  }
}

}  // namespace trainyard::ui
