// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/transit_item.h"

#include <algorithm>
#include <vector>

#include "ui/canvas/canvas_text.h"
#include "ui/canvas/painting.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr double kWidth = 4, kArrow = 14, kLabelSize = 13, kLabelHeight = 24;
constexpr double kBusLine = 12;  // distance of the bus's line from the top of its strip

// Routes leave and enter tiles at their lower edges, so that the text stays readable.
QPointF foot(const QRectF& tile) { return {tile.center().x(), tile.bottom()}; }
QPointF nearest(const QRectF& tile, QPointF to) {
  return {std::clamp(to.x(), tile.left(), tile.right()),
          std::clamp(to.y(), tile.top(), tile.bottom())};
}

// Returns the host with this name. Returns null if the host has no bus, because it has only one
// device.
const NodeBox* host_with_bus(const Layout& layout, const std::string& name) {
  const auto at = std::ranges::find_if(layout.nodes, [&](const NodeBox& node) {
    return node.kind == TopologyObject::Kind::host && node.name == name;
  });
  return at == layout.nodes.end() || at->bus.isEmpty() ? nullptr : &*at;
}

// Returns the points of the route from the lower edge of a tile to the bus. It passes beside the
// tiles below.
std::vector<QPointF> down_to_bus(const NodeBox& host, const QRectF& tile) {
  const double bus = host.bus.top() + kBusLine;
  const auto below = [&](const TileBox& other) {
    return other.rect.left() == tile.left() && other.rect.top() > tile.top();
  };
  if (std::ranges::none_of(host.tiles, below)) return {foot(tile), {tile.center().x(), bus}};
  const double gap = kGrid, aside = tile.right() + gap, under = tile.bottom() + gap;
  return {foot(tile), {tile.center().x(), under}, {aside, under}, {aside, bus}};
}

void along_bus(QPainterPath& path, const NodeBox& host, const QRectF& from, const QRectF& to) {
  if (host.rect.contains(from.center()))
    for (const QPointF& point : down_to_bus(host, from)) path.lineTo(point);
  if (!host.rect.contains(to.center())) return;
  auto up = down_to_bus(host, to);
  std::ranges::reverse(up);
  for (const QPointF& point : up) path.lineTo(point);
}

// Returns the path of a link in the direction in which data crosses it. Empty if the link is not
// drawn.
QPainterPath link_path(const Layout& layout, const Crossing& crossing) {
  const auto at = std::ranges::find_if(
      layout.links, [&](const LinkShape& link) { return link.name == *crossing.link; });
  if (at == layout.links.end()) return {};
  return crossing.forward ? at->path : at->path.toReversed();
}

// Returns the point where a route leaves or enters a device: at the lower edge if the route uses
// the bus, otherwise the point nearest to the link.
QPointF end_at(const QRectF& tile, const Layout& layout, const Crossing& outer,
               const Crossing* link, double at) {
  if (!link || (!outer.link && host_with_bus(layout, outer.host))) return foot(tile);
  const QPainterPath way = link_path(layout, *link);
  return way.isEmpty() ? foot(tile) : nearest(tile, way.pointAtPercent(at));
}

void paint_head(QPainter& painter, QPointF tip, double degrees) {
  painter.save();
  painter.translate(tip);
  painter.rotate(degrees);
  painter.drawPolygon(QPolygonF({{0, 0}, {-kArrow, -kArrow / 2}, {-kArrow, kArrow / 2}}));
  painter.restore();
}

}  // namespace

std::optional<QPainterPath> transit_path(const Layout& layout, const Transit& transit) {
  const QRectF from = layout.rect_of(transit.from), to = layout.rect_of(transit.to);
  if (from.isNull() || to.isNull()) return {};
  const auto& route = transit.route;
  if (route.empty()) return QPainterPath(foot(to));
  const auto is_link = [](const Crossing& crossing) { return crossing.link.has_value(); };
  const auto first = std::ranges::find_if(route, is_link);
  const auto last = std::find_if(route.rbegin(), route.rend(), is_link);
  QPainterPath path(
      end_at(from, layout, route.front(), first == route.end() ? nullptr : &*first, 0));
  for (const Crossing& crossing : route) {
    const NodeBox* host = crossing.link ? nullptr : host_with_bus(layout, crossing.host);
    if (host) along_bus(path, *host, from, to);
    if (!crossing.link) continue;
    const QPainterPath way = link_path(layout, crossing);
    if (way.isEmpty()) return {};
    path.lineTo(way.pointAtPercent(0));
    path.connectPath(way);
  }
  path.lineTo(end_at(to, layout, route.back(), last == route.rend() ? nullptr : &*last, 1));
  return path;
}

void TransitItem::set(const QPainterPath& path, const QString& label) {
  prepareGeometryChange();
  path_ = path, label_ = label;
  setVisible(!label.isEmpty());
  update();
}

void TransitItem::set_progress(double progress) {
  if (progress == progress_) return;
  progress_ = progress;
  update();
}

QRectF TransitItem::label_rect() const {
  const QPointF at = path_.length() > 0 ? path_.pointAtPercent(std::clamp(progress_, 0.0, 1.0))
                                        : path_.currentPosition();
  const QSizeF size(width_of(label_, kLabelSize, true) + 16, kLabelHeight);
  return {at + QPointF(kArrow / 2 + 2, 0), size};
}

// Returns a rectangle that covers the route and all positions of the moving label.
QRectF TransitItem::boundingRect() const {
  const QSizeF label = label_rect().size();
  return path_.boundingRect().adjusted(-kArrow, -kArrow, kArrow + label.width(),
                                       kArrow + label.height());
}

void TransitItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
  const Colors& colors = Theme::instance().colors();
  painter->setRenderHint(QPainter::Antialiasing);
  const QRectF label = label_rect();
  const double away =
      path_.length() > 0 ? path_.percentAtLength(std::max(0.0, path_.length() - kArrow)) : 1;
  painter->setBrush(Qt::NoBrush);
  painter->setPen(QPen(colors.accent, kWidth / std::min(scale_of(*painter), 1.0), Qt::SolidLine,
                       Qt::RoundCap, Qt::RoundJoin));
  painter->drawPath(path_);
  painter->setPen(Qt::NoPen);
  painter->setBrush(colors.accent);
  if (path_.length() > 0)
    paint_head(*painter, path_.currentPosition(), -path_.angleAtPercent(away));
  painter->drawRoundedRect(label, label.height() / 2, label.height() / 2);
  write(*painter, label, Qt::AlignHCenter, label_, kLabelSize, colors.on_accent, true);
}

}  // namespace trainyard::ui
