// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/logical_arrows.h"

#include <QLineF>
#include <algorithm>
#include <cmath>
#include <map>

#include "ui/canvas/canvas_text.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr double kThinnest = 1.5, kWidest = 6;
constexpr double kNeighbors = 160;  // pixels between the centers of adjacent tiles
constexpr double kMinBend = 16, kMaxBend = 64,
                 kBend = 0.2;  // pixels; kBend: bend per pixel of distance beyond kNeighbors
// Limits for simpler arrows: with more than kFew arrows, they have no rims; with more than kMany,
// no heads.
constexpr std::size_t kFew = 150, kMany = 1000;
constexpr float kFaint = 0.35F;
constexpr double kHead = 5, kRim = 3;  // pixels at 100 %
constexpr double kLineOfHead = 0.45;   // maximum line width as a fraction of the head's length
// Maximum length of an arrow head, as a fraction of its arrow's length.
constexpr double kHeadOfAll = 0.65;

std::map<std::string, QRectF> tiles_of(const Layout& layout) {
  std::map<std::string, QRectF> tiles;
  for (const NodeBox& node : layout.nodes)
    for (const TileBox& tile : node.tiles) tiles[tile.name] = tile.rect;
  return tiles;
}

// Returns a curve from the border of one tile to that of the other. It is bent to the right of its
// direction, so that opposite arrows do not coincide.
QPainterPath bow(const QRectF& from, const QRectF& to) {
  const QLineF way(from.center(), to.center());
  const double bend =
      std::clamp(kMinBend + (way.length() - kNeighbors) * kBend, kMinBend, kMaxBend);
  const QPointF aside = QPointF(-way.dy(), way.dx()) / std::max(way.length(), 1.0) * bend,
                control = way.center() + 2 * aside;
  QPainterPath path(border_point(from, way.center() + aside));
  path.quadTo(control - aside, border_point(to, way.center() + aside));
  return path;
}

// Returns the distance between the ends of the path. Computing the length along the path would take
// a hundred times as long.
double span_of(const QPainterPath& path) {
  return QLineF(path.elementAt(0), path.currentPosition()).length();
}

double head_size(const LogicalArrow& arrow) {
  return std::min(kHead + 2 * arrow.width, kHeadOfAll * span_of(arrow.path));
}

// Returns the triangle at the end of the path. It points in the direction from the path's last
// control point to the end.
QPolygonF head_of(const QPainterPath& path, double size) {
  const QPointF tip = path.currentPosition();
  const QLineF back(tip, path.elementAt(path.elementCount() - 2));
  if (back.length() == 0) return {};
  const QPointF along = (back.p2() - tip) / back.length() * size,
                across = QPointF(-along.y(), along.x()) * 0.45;
  return QPolygonF{tip, tip + along + across, tip + along - across};
}

// Returns the curve of the arrow without the end that the head covers. A wide line up to the tip
// would make the head blunt.
QPainterPath line_of(const LogicalArrow& arrow) {
  const QPainterPath& path = arrow.path;
  const double span = span_of(path), part = span > 0 ? 1 - 0.8 * head_size(arrow) / span : 1;
  const auto between = [part](QPointF a, QPointF b) { return a + (b - a) * part; };
  const QPointF a = path.elementAt(0), b = path.elementAt(1), c = path.elementAt(2),
                d = path.elementAt(3);  // splits the cubic with de Casteljau's algorithm
  const QPointF ab = between(a, b), bc = between(b, c), cd = between(c, d), abc = between(ab, bc),
                bcd = between(bc, cd);
  QPainterPath line(a);
  line.cubicTo(ab, abc, between(abc, bcd));
  return line;
}

struct ArrowStyle {
  QColor color;
  double rim = 0;  // width in pixels added to the line for its rim
};

void paint_line(QPainter& painter, const LogicalArrow& arrow, const ArrowStyle& ink) {
  painter.setBrush(Qt::NoBrush);
  painter.strokePath(
      line_of(arrow),
      QPen(ink.color, std::min(arrow.width, kLineOfHead * head_size(arrow)) + ink.rim,
           Qt::SolidLine, Qt::FlatCap));
}

// Paints an arrow head. Its rim follows the two sides that meet at the tip, because the line enters
// at the third side.
void paint_head(QPainter& painter, const LogicalArrow& arrow, const ArrowStyle& ink) {
  const QPolygonF head = head_of(arrow.path, head_size(arrow));
  if (head.isEmpty()) return;
  if (ink.rim > 0) {
    painter.setPen(QPen(ink.color, ink.rim, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin));
    painter.drawPolyline(QPolygonF{head[1], head[0], head[2]});
    return;
  }
  painter.setPen(Qt::NoPen);
  painter.setBrush(ink.color);
  painter.drawPolygon(head);
}

// Paints all heads after all lines: otherwise a line that begins at the tip of another arrow would
// hide that arrow's head.
void paint_arrows(QPainter& painter, const std::vector<LogicalArrow>& arrows) {
  const bool rims = arrows.size() <= kFew;
  for (const auto part : {paint_line, paint_head})
    for (const LogicalArrow& arrow : arrows) {
      if (rims) part(painter, arrow, {Theme::instance().colors().card, kRim});
      part(painter, arrow, {Theme::instance().series_color(arrow.from)});
    }
}

// Paints straight, thin, faint lines without heads. They are used for nearly all-to-all traffic,
// where heads would hide each other. Painting them takes a fraction of the time.
void paint_hairlines(QPainter& painter, const std::vector<LogicalArrow>& arrows) {
  std::map<int, QList<QLineF>> by_sender;
  for (const LogicalArrow& arrow : arrows)
    by_sender[arrow.from].emplace_back(arrow.path.elementAt(0), arrow.path.currentPosition());
  painter.setRenderHint(QPainter::Antialiasing, false);
  for (const auto& [rank, lines] : by_sender) {
    QColor color = Theme::instance().series_color(rank);
    color.setAlphaF(kFaint);
    painter.setPen(QPen(color, 0));
    painter.drawLines(lines);
  }
}

}  // namespace

std::vector<LogicalArrow> logical_arrows(const Layout& layout, const LogicalTopology& picture) {
  const std::map<std::string, QRectF> tiles = tiles_of(layout);
  std::int64_t most = 1;
  for (const collective::Flow& flow : picture.flows) most = std::max(most, flow.bytes);
  const auto tile_of = [&](int rank) {
    return tiles.find(picture.devices[static_cast<std::size_t>(rank)]);
  };
  std::vector<LogicalArrow> arrows;
  for (const collective::Flow& flow : picture.flows) {
    const auto from = tile_of(flow.from), to = tile_of(flow.to);
    if (from == tiles.end() || to == tiles.end()) continue;
    const double share = static_cast<double>(flow.bytes) / static_cast<double>(most);
    arrows.push_back({flow.from, flow.to, bow(from->second, to->second),
                      kThinnest + share * (kWidest - kThinnest)});
  }
  std::ranges::stable_sort(arrows, {}, &LogicalArrow::width);
  return arrows;
}

QPainterPath outside_tiles(const Layout& layout, const QRectF& area) {
  QPainterPath outside;  // odd-even fill
  outside.addRect(area);
  for (const NodeBox& node : layout.nodes)
    for (const TileBox& tile : node.tiles)
      if (tile.rect.intersects(area)) outside.addRect(tile.rect & area);
  return outside;
}

void paint_logical(QPainter& painter, const std::vector<LogicalArrow>& arrows,
                   const QPainterPath& outside) {
  if (arrows.size() > kMany) return paint_hairlines(painter, arrows);
  painter.setClipPath(outside, Qt::IntersectClip);
  paint_arrows(painter, arrows);
}

}  // namespace trainyard::ui
