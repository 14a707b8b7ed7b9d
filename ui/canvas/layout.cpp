// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/layout.h"

#include <QLineF>
#include <QPainterPathStroker>
#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>

namespace trainyard::ui {
namespace {

constexpr double kPad = 16, kGap = 16, kHeader = 40, kBus = 56;
constexpr double kTileWidth = 144, kTileHeight = 80;
constexpr double kBetweenParallelLinks = 16;

std::vector<TileBox> tiles_of(const topology::Host& host) {
  std::vector<TileBox> tiles;
  const auto wide = static_cast<std::size_t>(columns(host.devices.size()));
  for (std::size_t i = 0; i < host.devices.size(); ++i) {
    const double x = host.x + kPad + static_cast<double>(i % wide) * (kTileWidth + kGap);
    const std::size_t row = i / wide;
    const double y = host.y + kHeader + static_cast<double>(row) * (kTileHeight + kGap);
    tiles.push_back({host.devices[i].name, QRectF(QPointF(x, y), tile_size())});
  }
  return tiles;
}

NodeBox box_of(const topology::Host& host) {
  const QRectF rect(QPointF(host.x, host.y), host_size(host.devices.size()));
  const QRectF bus = host.devices.size() > 1 ? QRectF(rect.left() + kPad, rect.bottom() - kBus,
                                                      rect.width() - 2 * kPad, kBus)
                                             : QRectF();
  return {TopologyObject::Kind::host, host.name, rect, bus, tiles_of(host)};
}

// Returns the point where a line leaves a switch, whose left and right ends are half circles. See
// `border_point`.
QPointF round_border_point(const QRectF& rect, QPointF to) {
  const QLineF way(rect.center(), to);
  if (way.length() == 0) return to;
  // `straight`: half of the length of the switch's straight edges, between its round ends.
  const double radius = rect.height() / 2, straight = rect.width() / 2 - radius;
  const double across = std::fabs(way.dx()) / way.length(),
               along = std::fabs(way.dy()) / way.length();
  double reach = along > 0 ? radius / along : INFINITY;
  if (reach * across > straight)
    reach = straight * across + std::sqrt(radius * radius - straight * straight * along * along);
  return way.pointAt(std::min(reach / way.length(), 1.0));
}

struct End {
  QRectF rect;
  TopologyObject::Kind kind;
};

QPointF border_of(const End& end, QPointF to) {
  return end.kind == TopologyObject::Kind::network_switch ? round_border_point(end.rect, to)
                                                          : border_point(end.rect, to);
}

QPainterPath line_between(const End& from, const End& to, double aside) {
  QLineF center(from.rect.center(), to.rect.center());
  if (center.length() > 0)
    center.translate(QPointF(-center.dy(), center.dx()) / center.length() * aside);
  const QPointF shift = center.p1() - from.rect.center();
  QPainterPath path(border_of(from, to.rect.center()) + shift);
  path.lineTo(border_of(to, from.rect.center()) + shift);
  return path;
}

// Returns the curve between two devices of one host. It runs below the tiles, or between their
// sides if one tile is above the other.
QPainterPath curve_between(const QRectF& from, const QRectF& to) {
  const bool same_row = from.top() == to.top();
  const double inward =
      // Distance of the curve's end from the tile's center, toward the other tile.
      (from.left() < to.left() ? 1 : -1) * (from.width() / 2 - 16);
  const QPointF a = same_row ? QPointF(from.center().x() + inward, from.bottom())
                             : border_point(from, to.center());
  const QPointF b =
      same_row ? QPointF(to.center().x() - inward, to.bottom()) : border_point(to, from.center());
  QPainterPath path(a);
  path.quadTo((a + b) / 2 + (same_row ? QPointF(0, 22) : QPointF()), b);
  return path;
}

using Ends = std::map<std::string, End>;

Ends ends_of(const std::vector<NodeBox>& nodes) {
  Ends ends;
  for (const NodeBox& node : nodes) {
    ends.try_emplace(node.name, End{node.rect, node.kind});
    for (const TileBox& tile : node.tiles)
      ends.try_emplace(tile.name, End{tile.rect, TopologyObject::Kind::device});
  }
  return ends;
}

// Returns the shapes of links. Dangling links, which a file may contain, are skipped.
std::vector<LinkShape> links_of(const topology::Topology& topology, const Ends& ends) {
  std::vector<LinkShape> shapes;
  std::map<std::pair<std::string, std::string>, int> parallel;
  const std::vector<LinkName> names = link_names(topology);
  auto name = names.begin();
  for (const topology::Link& link : topology.links) {
    const LinkName& name_of_link = *name++;
    const auto from = ends.find(link.from), to = ends.find(link.to);
    if (from == ends.end() || to == ends.end() || from == to) continue;
    const int before = parallel[std::minmax(link.from, link.to)]++;
    const End &a = from->second, &b = to->second;
    const bool within =
        a.kind == TopologyObject::Kind::device && b.kind == TopologyObject::Kind::device;
    const QPainterPath path =
        within ? curve_between(a.rect, b.rect) : line_between(a, b, kBetweenParallelLinks * before);
    shapes.push_back({name_of_link, path, path.pointAtPercent(0.5),
                      link_width(link.bandwidth_bits_per_second), within});
  }
  return shapes;
}

}  // namespace

QPointF border_point(const QRectF& rect, QPointF to) {
  const QPointF d = to - rect.center();
  const double by_x = d.x() == 0 ? INFINITY : rect.width() / 2 / std::fabs(d.x()),
               by_y = d.y() == 0 ? INFINITY : rect.height() / 2 / std::fabs(d.y());
  const double share = std::min({by_x, by_y, 1.0});
  return rect.center() + d * share;
}

SelectedObjects selection_of(const TopologyObject& part) {
  if (!part) return {};
  if (part.kind == TopologyObject::Kind::link) return {.names = {}, .links = {part.link}};
  return {.names = {part.name}, .links = {}};
}

QSizeF tile_size() { return {kTileWidth, kTileHeight}; }
QSizeF switch_size() { return {128, 64}; }

int columns(std::size_t devices) {
  if (devices <= 1) return 1;
  if (devices <= 4) return 2;
  return devices <= 8 ? 4
                      : static_cast<int>(std::ceil(std::sqrt(1.5 * static_cast<double>(devices))));
}

QSizeF host_size(std::size_t devices) {
  const std::size_t shown = std::max<std::size_t>(devices, 1),
                    wide = static_cast<std::size_t>(columns(shown)),
                    rows = (shown + wide - 1) / wide;
  // The height is an even number of grid steps, so that links between the centers of nodes are
  // straight.
  const double below = devices > 1 ? kBus : kPad + 8;
  return {2 * kPad + static_cast<double>(wide) * (kTileWidth + kGap) - kGap,
          kHeader + static_cast<double>(rows) * (kTileHeight + kGap) - kGap + below};
}

double link_width(double bandwidth_bits_per_second) {
  return std::clamp(std::log10(std::max(bandwidth_bits_per_second, 1.0)) - 7, 1.0, 8.0);
}

Layout lay_out(const topology::Topology& topology) {
  Layout layout;
  for (const topology::Host& host : topology.hosts) layout.nodes.push_back(box_of(host));
  for (const topology::Switch& one : topology.switches)
    layout.nodes.push_back({TopologyObject::Kind::network_switch,
                            one.name,
                            QRectF(QPointF(one.x, one.y), switch_size()),
                            {},
                            {}});
  layout.links = links_of(topology, ends_of(layout.nodes));
  for (const NodeBox& node : layout.nodes) layout.bounds |= node.rect;
  return layout;
}

QRectF Layout::rect_of(const std::string& name) const {
  for (const NodeBox& node : nodes) {
    if (node.name == name) return node.rect;
    for (const TileBox& tile : node.tiles)
      if (tile.name == name) return tile.rect;
  }
  return {};
}

QRectF Layout::rect_of(const TopologyObject& part) const {
  if (part.kind != TopologyObject::Kind::link) return part ? rect_of(part.name) : QRectF();
  const auto at = std::ranges::find(links, part.link, &LinkShape::name);
  return at == links.end() ? QRectF() : at->path.boundingRect().adjusted(-4, -4, 4, 4);
}

TopologyObject object_at(const Layout& layout, QPointF point, double tolerance) {
  const auto device_link = [&](const LinkShape& link) {
    QPainterPathStroker stroker;
    stroker.setWidth(link.width + 2 * tolerance);
    return stroker.createStroke(link.path).contains(point);
  };
  const auto topmost = [](const auto& parts, const auto& fits) {
    const auto at = std::find_if(parts.rbegin(), parts.rend(), fits);
    return at == parts.rend() ? nullptr : &*at;
  };
  const auto holds_point = [&](const auto& box) { return box.rect.contains(point); };
  for (auto node = layout.nodes.rbegin(); node != layout.nodes.rend(); ++node)
    if (const TileBox* tile = topmost(node->tiles, holds_point))
      return {TopologyObject::Kind::device, tile->name, {}};
  if (const LinkShape* bow = topmost(layout.links, [&](const LinkShape& link) {
        return link.within_host && device_link(link);
      }))
    return {TopologyObject::Kind::link, {}, bow->name};  // links inside a host are above its card
  if (const NodeBox* node = topmost(layout.nodes, holds_point)) return {node->kind, node->name, {}};
  if (const LinkShape* link = topmost(layout.links, device_link))
    return {TopologyObject::Kind::link, {}, link->name};
  return {};
}

SelectedObjects within(const Layout& layout, const QRectF& area) {
  SelectedObjects picked;
  for (const NodeBox& node : layout.nodes)
    if (node.rect.intersects(area)) picked.names.insert(node.name);
  for (const LinkShape& link : layout.links)
    if (picked.names.contains(link.name.from) && picked.names.contains(link.name.to))
      picked.links.insert(link.name);
  return picked;
}

}  // namespace trainyard::ui
