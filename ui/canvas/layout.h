// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry of the drawing: plain rectangles and paths computed from a topology, in scene pixels at
// 100 %. Independent of items and painting. All sizes are multiples of 8.
#pragma once

#include <QPainterPath>
#include <QPointF>
#include <QRectF>
#include <string>
#include <vector>

#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {

// One object of the drawing, by name.
struct TopologyObject {
  enum class Kind { nothing, host, device, network_switch, link };
  Kind kind = Kind::nothing;
  std::string name;  // host, device or switch name
  LinkName link;

  explicit operator bool() const { return kind != Kind::nothing; }
  bool is_node() const { return kind == Kind::host || kind == Kind::network_switch; }
  bool operator==(const TopologyObject&) const = default;
};
SelectedObjects selection_of(const TopologyObject& part);

struct TileBox {
  std::string name;
  QRectF rect;
};

struct NodeBox {
  TopologyObject::Kind kind = TopologyObject::Kind::host;  // kind: host or network_switch
  std::string name;
  QRectF rect;
  QRectF bus;  // strip of a host with several devices; otherwise empty
  std::vector<TileBox> tiles;
};

struct LinkShape {
  LinkName name;
  QPainterPath path;  // from border to border, in the link's direction
  QPointF middle;
  double width = 1;          // width of the line; it grows with the logarithm of the bandwidth
  bool within_host = false;  // true between two devices of a host; drawn over the host's card
};

struct Layout {
  std::vector<NodeBox> nodes;
  std::vector<LinkShape> links;
  QRectF bounds;

  QRectF rect_of(const TopologyObject& part) const;  // null if the object does not exist
  QRectF rect_of(const std::string& name) const;
};

QSizeF tile_size();
QSizeF host_size(std::size_t devices);
QSizeF switch_size();
int columns(std::size_t devices);  // columns of tiles on a host
double link_width(
    double bandwidth_bits_per_second);  // 1 at 100 Mbit/s, one more for each factor of ten

Layout lay_out(const topology::Topology& topology);

// Returns the point where the line from the center of `rect` to the point `to` leaves the
// rectangle.
QPointF border_point(const QRectF& rect, QPointF to);

// Returns the topmost object at a point. A link is found if the point is at most `tolerance` away
// from it.
TopologyObject object_at(const Layout& layout, QPointF point, double tolerance = 6);
// Returns the hosts and switches that touch `area`, and the links between them.
SelectedObjects within(const Layout& layout, const QRectF& area);

}  // namespace trainyard::ui
