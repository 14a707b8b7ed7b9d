// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/painting.h"

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "ui/canvas/canvas_text.h"
#include "ui/canvas/flow.h"
#include "ui/canvas/traffic_text.h"
#include "ui/model/text/count_text.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr double kNameSize = 13, kTinySize = 9;  // pixels at 100 %
constexpr double kFarSize = 10;                  // pixels on the screen, times the theme's scale

bool far(const QPainter& painter) { return is_far(scale_of(painter)); }
// Returns the font size of names and rank numbers. It grows as the drawing is zoomed out, up to the
// height `room`.
double far_size(const QPainter& painter, double room) {
  return std::min(kFarSize * Theme::instance().scale() / scale_of(painter), room);
}

bool tiny(const QPainter& painter) { return is_tiny(scale_of(painter)); }

// Paints a box by filling two rectangles without anti-aliasing, which is fast.
void tiny_box(QPainter& painter, const QRectF& rect, const QColor& inside, const QPen& edge) {
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.fillRect(rect, edge.color());
  const double width = edge.widthF();
  painter.fillRect(rect.adjusted(width, width, -width, -width), inside);
  painter.setRenderHint(QPainter::Antialiasing);
}

void box(QPainter& painter, const QRectF& rect, double radius, const QColor& inside,
         const QPen& pen) {
  if (tiny(painter) && pen.style() == Qt::SolidLine) return tiny_box(painter, rect, inside, pen);
  painter.setPen(pen);
  painter.setBrush(inside);
  const double inset = pen.widthF() / 2;
  painter.drawRoundedRect(rect.adjusted(inset, inset, -inset, -inset), radius, radius);
}

void box(QPainter& painter, const QRectF& rect, double radius, const QColor& fill,
         const Marks& marks, Qt::PenStyle line = Qt::SolidLine) {
  // Width of the border: at least one pixel on screen.
  const double width = (marks.selected ? 2 : 1) / std::min(scale_of(painter), 1.0);
  const QPen pen(marks.selected  ? colors().accent
                 : marks.hovered ? colors().dim
                                 : colors().border,
                 width, line);
  box(painter, rect, radius, marks.selected ? colors().selection : fill, pen);
}

// Paints a small rounded label; returns its rectangle.
QRectF pill(QPainter& painter, QPointF right_center, const QString& text, const QColor& fill,
            const QColor& ink) {
  const double width = width_of(text, kSmallSize, true) + 12;
  const QRectF rect(right_center.x() - width, right_center.y() - 9, width, 18);
  painter.setPen(Qt::NoPen);
  painter.setBrush(fill);
  painter.drawRoundedRect(rect, 9, 9);
  write(painter, rect, Qt::AlignHCenter, text, kSmallSize, ink, true);
  return rect;
}

void paint_utilization(QPainter& painter, const QRectF& rect, double utilization,
                       const QColor& color) {
  if (!(utilization > 0)) return;
  QRectF filled = rect.adjusted(1, 1, -1, -1);
  filled.setTop(filled.bottom() - filled.height() * std::min(utilization, 1.0));
  QColor wash = color;
  wash.setAlphaF(Theme::instance().dark() ? 0.22f : 0.20f);
  if (tiny(painter)) return painter.fillRect(filled, wash);
  painter.save();
  QPainterPath clip;
  clip.addRoundedRect(rect.adjusted(1, 1, -1, -1), 5, 5);
  painter.setClipPath(clip, Qt::IntersectClip);
  painter.fillRect(filled, wash);
  painter.restore();
}

// Paints a tile whose failure ended the run; visible at any zoom.
void paint_failed(QPainter& painter, const QRectF& tile, bool selected) {
  const QColor inside = selected ? colors().selection : mixed(colors().tile, colors().error, 0.15);
  box(painter, tile, 6, inside, QPen(colors().error, 2 / std::min(scale_of(painter), 1.0)));
}

// Returns the hatch pattern of a stalled or lost rank. Lost ranks get the denser pattern, because
// stalled ranks may continue.
Qt::BrushStyle hatch_of(Absence absence) {
  return absence == Absence::lost ? Qt::DiagCrossPattern : Qt::BDiagPattern;
}

// Paints the tile of a stalled, lost or returning rank. It has a hatch pattern, because color alone
// is not enough.
void paint_absent(QPainter& painter, const QRectF& tile, const TileAppearance& look) {
  box(painter, tile, 6, look.marks.selected ? colors().selection : colors().card,
      QPen(colors().warning, 2 / std::min(scale_of(painter), 1.0), Qt::DashLine));
  if (tiny(painter)) return;
  QColor ink = colors().warning;
  ink.setAlphaF(0.22f);
  painter.setPen(Qt::NoPen);
  painter.setBrush(QBrush(ink, hatch_of(look.absence())));
  painter.drawRoundedRect(tile.adjusted(2, 2, -2, -2), 5, 5);
}

QString absence_text(Absence absence) {
  switch (absence) {
    case Absence::stalled: return QCoreApplication::translate("canvas", "STALLED");
    case Absence::suspected: return QCoreApplication::translate("canvas", "NO CONTACT");
    case Absence::lost: return QCoreApplication::translate("canvas", "FAILED");
    case Absence::returning: return QCoreApplication::translate("canvas", "REJOINING");
    case Absence::none: break;
  }
  return {};
}

// Returns a symbol for the rank's state, shown beside its number where there is no room for text.
QString state_symbol(const TileAppearance& look) {
  switch (look.absence()) {
    case Absence::stalled: return QStringLiteral(" ‖");
    case Absence::suspected: return QStringLiteral(" ?");
    case Absence::lost: return QStringLiteral(" ×");
    case Absence::returning: return QStringLiteral(" ↻");
    case Absence::none: break;
  }
  return look.failed() ? " !" : "";
}

// Paints a tag across an edge of the tile. Returns the x coordinate at which the next tag on this
// edge may begin.
double paint_tag(QPainter& painter, double left, double middle, const QString& words) {
  const QRectF tag(left, middle - 7, width_of(words, kTinySize, true) + 10, 14);
  painter.setPen(QPen(colors().warning, 1));
  painter.setBrush(colors().card);
  painter.drawRoundedRect(tag, 3, 3);
  write(painter, tag, Qt::AlignHCenter, words, kTinySize, colors().warning, true);
  return tag.right() + 4;
}

void paint_tile_header(QPainter& painter, const QRectF& inner, const TileAppearance& look) {
  const QRectF row(inner.left(), inner.top(), inner.width(), 20);
  double right = row.right();
  const std::optional<int> rank = look.shown_rank();
  if (rank) {
    const QColor ink = Theme::instance().dark() ? QColor("#14171c") : QColor("#ffffff");
    right = pill(painter, {row.right(), row.center().y()}, QString::number(*rank),
                 Theme::instance().series_color(*rank), ink)
                .left() -
            4;
  }
  paint_icon(painter, as_text(look.device.kind), QRectF(row.left(), row.top() + 2, 16, 16),
             rank ? colors().text : colors().dim);
  write(painter, QRectF(row.left() + 22, row.top(), right - row.left() - 22, row.height()),
        Qt::AlignLeft, as_text(look.device.name), kNameSize, rank ? colors().text : colors().dim,
        true);
}

void paint_far_tile(QPainter& painter, const QRectF& rect, const TileAppearance& look) {
  const std::optional<int> rank = look.shown_rank();
  if (!rank) return;
  painter.fillRect(QRectF(rect.left() + 1, rect.top() + 8, 12, rect.height() - 16),
                   Theme::instance().series_color(*rank));
  const QColor& ink = look.failed() ? colors().error : colors().text;
  const double badge = look.badge.isEmpty() ? 0 : far_size(painter, 36);
  if (badge > 0)
    paint_icon(painter, look.badge,
               QRectF(rect.right() - badge - 8, rect.center().y() - badge / 2, badge, badge), ink);
  write(painter, rect.adjusted(16, 0, -4 - badge, 0), Qt::AlignHCenter,
        QString::number(*rank) + state_symbol(look), far_size(painter, 48), ink, true);
}

// Returns "12 steps", or only the number if there is no room for the words. If the number is a step
// of the run instead of a count, returns "at step 1,200", or nothing before the first step.
QString steps_done(const DeviceOverlay& live, double room) {
  if (live.step_is_position && live.step == 0) return {};
  const QString words = live.step_is_position
                            ? QObject::tr("at step %1").arg(grouped(live.step))
                            : QObject::tr("%n step(s)", nullptr, plural(live.step));
  return width_of(words, kSmallSize, false) > room ? grouped(live.step) : words;
}

// Paints a bar whose full width stands for all of one kind of state, such as all parameters. The
// shard that the rank keeps is filled; without sharding, the full bar is filled.
void paint_shard_bar(QPainter& painter, const QRectF& bar, const KeptShard& kept, bool shared,
                     const QColor& color) {
  const double one = bar.width() / kept.parts;
  painter.fillRect(bar, mixed(colors().border, colors().tile, 0.5));
  painter.fillRect(
      shared ? QRectF(bar.left() + one * kept.part, bar.top(), std::max(one, 1.5), bar.height())
             : bar,
      color);
}

// Paints the bar of one kind of state, with the letter of the kind before it.
void paint_labeled_shard_bar(QPainter& painter, const QRectF& where, const QString& letter,
                             const KeptShard& kept, bool shared, const QColor& color) {
  const double size = where.height() / 2, left = where.left() + 12;
  write(painter, where, Qt::AlignLeft, letter, kSmallSize, colors().dim);
  paint_shard_bar(painter,
                  QRectF(left, where.center().y() - size / 2, where.right() - left - 6, size), kept,
                  shared, color);
}

// Paints the bars of parameters, gradients and moments beside each other, with letters.
void paint_shard(QPainter& painter, const QRectF& row, const TileAppearance& look) {
  const KeptShard& kept = *look.shard;
  const QColor color = Theme::instance().series_color(look.shown_rank().value_or(0));
  const double width = row.width() / 3;
  const QRectF first(row.left(), row.top(), width, row.height());
  paint_labeled_shard_bar(painter, first, "P", kept, kept.parameters, color);
  paint_labeled_shard_bar(painter, first.translated(width, 0), "G", kept, kept.gradients, color);
  if (kept.moments)
    paint_labeled_shard_bar(painter, first.translated(2 * width, 0), "M", kept, true, color);
}

// Paints the bars of parameters, gradients and moments below each other, without letters. Each bar
// has a fixed position, even if another bar is omitted.
void paint_shard_small(QPainter& painter, const QRectF& row, const TileAppearance& look) {
  const KeptShard& kept = *look.shard;
  const QColor color = Theme::instance().series_color(look.shown_rank().value_or(0));
  const double each = row.height() / 3;
  const QRectF first(row.left(), row.top() + 1, row.width(), each - 2);
  paint_shard_bar(painter, first, kept, kept.parameters, color);
  paint_shard_bar(painter, first.translated(0, each), kept, kept.gradients, color);
  if (kept.moments) paint_shard_bar(painter, first.translated(0, 2 * each), kept, true, color);
}

// Paints the rank's share of the model: its layers, bars for its shard, or both. If the rank has
// the full model, paints the text `otherwise`. In a run, bars are shown beside the layers if there
// is room.
void paint_model_share(QPainter& painter, const QRectF& row, const TileAppearance& look,
                       const QString& otherwise) {
  if (look.shard && look.layers.isEmpty()) return paint_shard(painter, row, look);
  const double words = look.layers.isEmpty() ? 0 : width_of(look.layers, kSmallSize, false) + 10;
  constexpr double kNarrowest = 16;
  const bool beside = look.live && look.shard && row.width() - words >= kNarrowest;
  write(painter, beside ? row.adjusted(0, 0, words - row.width(), 0) : row, Qt::AlignLeft,
        look.layers.isEmpty() ? otherwise : look.layers, kSmallSize,
        look.live && !look.layers.isEmpty() ? colors().text : colors().dim);
  if (beside) paint_shard_small(painter, row.adjusted(words, 0, 0, 0), look);
}

void paint_tile_state(QPainter& painter, const QRectF& row, const TileAppearance& look) {
  if (!look.live)
    return look.shard ? paint_shard(painter, row, look)
                      : paint_model_share(painter, row, look, look.duty);
  const bool strong = look.failed() || look.absence() != Absence::none;
  const double state = width_of(look.live->state, kSmallSize, strong) + 6;
  const QColor ink = look.failed() ? colors().error : colors().text;
  write(painter, row, Qt::AlignRight, steps_done(*look.live, row.width() - state), kSmallSize,
        colors().text);
  write(painter, row, Qt::AlignLeft, look.live->state, kSmallSize, ink, strong);
}

// Writes the measured rate and the drawn speed of a bus, and the payload kinds below them.
void write_crossing(QPainter& painter, const QRectF& bus, const LinkOverlay& live,
                    const QString& speeds) {
  const QString kinds = traffic_kinds(live), bytes = rate(live.total());
  const QRectF row(bus.left(), bus.top() + 18, bus.width(), 16);
  write(painter, row, Qt::AlignLeft, bytes, kSmallSize, colors().text, true);
  write(painter, row.adjusted(width_of(bytes, kSmallSize, true) + 12, 0, 0, 0), Qt::AlignRight,
        QObject::tr("speed %1").arg(speeds), kSmallSize, colors().dim);
  if (!kinds.isEmpty())
    write(painter, row.translated(0, 16), Qt::AlignLeft, kinds, kSmallSize, colors().text);
}

void paint_bus(QPainter& painter, const QRectF& bus, const HostAppearance& look,
               double clock_seconds) {
  QPainterPath line(QPointF(bus.left(), bus.top() + 12));
  line.lineTo(bus.right(), bus.top() + 12);
  stroke(painter, line,
         QPen(colors().border, link_width(look.host.bus_bandwidth_bits_per_second), Qt::SolidLine,
              Qt::FlatCap));
  const QString drawn =
      QObject::tr("bus") + " " +
      speed_text(look.host.bus_bandwidth_bits_per_second, look.host.bus_latency_seconds);
  if (!look.live)
    return write(painter, QRectF(bus.left(), bus.top() + 18, bus.width(), 16), Qt::AlignLeft, drawn,
                 kSmallSize, colors().dim);
  paint_flow(painter, line, look.live->total(), true, clock_seconds);
  write_crossing(painter, bus, *look.live, look.speeds);
}

// Paints the name of a host. The address of another machine is below the name, because it is often
// long, and above the tags of the tiles. For this machine, the text is beside the name.
void paint_host_header(QPainter& painter, const QRectF& header, const HostAppearance& look) {
  paint_icon(painter, "host", QRectF(header.left(), header.top() + 10, 16, 16), colors().text);
  const QString name = as_text(look.host.name), address = address_text(look.host);
  const QRectF words = header.adjusted(22, 0, 0, 0);
  if (!look.host.address.empty()) {
    write(painter, QRectF(words.left(), words.top(), words.width(), 17), Qt::AlignLeft, name,
          kNameSize, colors().text, true);
    return write(painter, QRectF(words.left(), words.top() + 16, words.width(), 15), Qt::AlignLeft,
                 address, kSmallSize, colors().text);
  }
  const QRectF row(words.left(), words.top() + 6, words.width(), 24);
  const double name_width = std::min(width_of(name, kNameSize, true) + 2, row.width());
  write(painter, QRectF(row.left(), row.top(), name_width, row.height()), Qt::AlignLeft, name,
        kNameSize, colors().text, true);
  write(painter, row.adjusted(name_width + 8, 0, 0, 0), Qt::AlignRight, address, kSmallSize,
        colors().dim);
}

}  // namespace

void paint_tile(QPainter& painter, const QRectF& rect, const TileAppearance& look) {
  const bool idle = look.device.role == topology::Role::idle && !look.live;
  if (look.failed()) paint_failed(painter, rect, look.marks.selected);
  else if (look.absence() != Absence::none) paint_absent(painter, rect, look);
  else
    box(painter, rect, 6, idle ? colors().card : colors().tile, look.marks,
        look.emulated || idle ? Qt::DashLine : Qt::SolidLine);
  if (look.live)
    paint_utilization(painter, rect, look.live->utilization,
                      Theme::instance().series_color(look.live->rank));
  if (far(painter)) return paint_far_tile(painter, rect, look);
  const QRectF inner = rect.adjusted(10, 8, -10, -8);
  paint_tile_header(painter, inner, look);
  const QRectF figures(inner.left(), inner.top() + 26,
                       inner.width() - (look.badge.isEmpty() ? 0 : 20), 16);
  // During a run, or if stages are sharded, paints the rank's share of the model in the row of the
  // device's cores and memory.
  const bool stage_of_shards = look.shard && !look.layers.isEmpty();
  if (look.live || stage_of_shards)
    paint_model_share(painter, figures, look, device_figures(look.device));
  else
    write(painter, figures, Qt::AlignLeft, device_figures(look.device), kSmallSize, colors().dim);
  if (!look.badge.isEmpty())
    paint_icon(painter, look.badge, QRectF(inner.right() - 16, figures.top(), 16, 16),
               colors().text);
  paint_tile_state(painter, QRectF(inner.left(), inner.top() + 44, inner.width(), 16), look);
}

// Paints EMULATED below the tile, and absence and imposed slowdowns above it.
void paint_tile_tags(QPainter& painter, const QRectF& tile, const TileTags& tags) {
  if (far(painter)) return;
  if (tags.emulated) paint_tag(painter, tile.left() + 6, tile.bottom(), "EMULATED");
  double left = tile.left() + 6;
  if (tags.absence != Absence::none)
    left = paint_tag(painter, left, tile.top(), absence_text(tags.absence));
  for (const QString& mark : tags.imposed) left = paint_tag(painter, left, tile.top(), mark);
}

void paint_host(QPainter& painter, const QRectF& rect, const QRectF& bus,
                const HostAppearance& look, double clock_seconds) {
  box(painter, rect, 8, colors().card, look.marks);
  if (!bus.isEmpty()) paint_bus(painter, bus, look, clock_seconds);
  if (far(painter))
    return write(painter, QRectF(rect.left() + 16, rect.top(), rect.width() - 32, 40),
                 Qt::AlignLeft, as_text(look.host.name), far_size(painter, 30), colors().text,
                 true);
  paint_host_header(painter, QRectF(rect.left() + 16, rect.top() + 2, rect.width() - 32, 36), look);
  if (look.host.devices.empty())
    write(painter, rect.adjusted(16, 40, -16, -16), Qt::AlignHCenter,
          QObject::tr("Drop a device here"), kSmallSize, colors().dim);
}

void paint_switch(QPainter& painter, const QRectF& rect, const SwitchAppearance& look) {
  box(painter, rect, rect.height() / 2, colors().card, look.marks);
  if (far(painter))
    return write(painter, rect.adjusted(4, 0, -4, 0), Qt::AlignHCenter, as_text(look.name),
                 far_size(painter, 24), colors().text, true);
  paint_icon(painter, "switch", QRectF(rect.left() + 16, rect.center().y() - 10, 20, 20),
             colors().text);
  write(painter, rect.adjusted(42, 0, -14, 0), Qt::AlignLeft, as_text(look.name), kNameSize,
        colors().text, true);
}

void paint_link(QPainter& painter, const LinkShape& shape, const LinkAppearance& look,
                double clock_seconds) {
  const bool degraded = look.part < 1;
  const QColor color = look.marks.selected  ? colors().accent
                       : degraded           ? colors().warning
                       : look.marks.hovered ? colors().dim
                                            : colors().link;
  painter.setBrush(Qt::NoBrush);
  // Round ends only for links inside a host. Links between hosts end under cards, so they need
  // none.
  const Qt::PenCapStyle cap = shape.within_host ? Qt::RoundCap : Qt::FlatCap;
  if (look.marks.selected)
    stroke(painter, shape.path, QPen(colors().selection, shape.width + 6, Qt::SolidLine, cap));
  stroke(painter, shape.path,
         QPen(color, shape.width, degraded ? Qt::DashLine : Qt::SolidLine, cap));
  if (!look.live) return;
  const double away = shape.within_host ? 2 : shape.width / 2 + 3;
  for (const bool forward : {true, false}) {
    painter.save();
    painter.translate(offset_point(shape.path, forward ? -away : away));
    paint_flow(painter, shape.path,
               forward ? look.live->bytes_per_second_forward : look.live->bytes_per_second_backward,
               forward, clock_seconds);
    painter.restore();
  }
}

}  // namespace trainyard::ui
