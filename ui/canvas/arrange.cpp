// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/arrange.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <vector>

namespace trainyard::ui {
namespace {

using topology::Host;
using topology::Switch;
using topology::Topology;

constexpr double kHostGap = 96, kSwitchGap = 112, kBesideSwitch = 192, kBlockGap = 160;
constexpr double kCopyGap = 48;
constexpr double kGridStep = 8;
constexpr double kAspect = 1.5;  // width / height of a block of hosts, about that of a window

// A host or switch to place: its size, and its position, which is changed.
struct Node {
  double* x;
  double* y;
  QSizeF size;
  std::string name;

  QRectF rect() const { return {QPointF(*x, *y), size}; }
  void put(double to_x, double to_y) const {
    const Position place = snapped({to_x, to_y});
    *x = place.x, *y = place.y;
  }
  void put_center(QPointF at) const { put(at.x() - size.width() / 2, at.y() - size.height() / 2); }
};
using Nodes = std::vector<Node>;

Node node(Host& host) { return {&host.x, &host.y, host_size(host.devices.size()), host.name}; }
Node node(Switch& one) { return {&one.x, &one.y, switch_size(), one.name}; }

Nodes nodes_of(Topology& topology, const std::set<std::string>& names) {
  Nodes nodes;
  for (Host& host : topology.hosts)
    if (names.contains(host.name)) nodes.push_back(node(host));
  for (Switch& one : topology.switches)
    if (names.contains(one.name)) nodes.push_back(node(one));
  return nodes;
}

void align_one(const Node& node, const QRectF& all, Edge edge) {
  const QRectF r = node.rect();
  switch (edge) {
    case Edge::left: return node.put(all.left(), r.top());
    case Edge::center: return node.put(all.center().x() - r.width() / 2, r.top());
    case Edge::right: return node.put(all.right() - r.width(), r.top());
    case Edge::top: return node.put(r.left(), all.top());
    case Edge::middle: return node.put(r.left(), all.center().y() - r.height() / 2);
    case Edge::bottom: return node.put(r.left(), all.bottom() - r.height());
  }
}

// Places nodes in a grid of `wide` columns with top left corner `at`. Returns the rectangle that
// the grid covers.
QRectF place_grid(const Nodes& nodes, QPointF at, std::size_t wide, double gap = kHostGap) {
  QRectF covered(at, QSizeF(0, 0));
  double y = at.y();
  for (std::size_t first = 0; first < nodes.size(); first += wide) {
    double x = at.x(), tallest = 0;
    for (std::size_t i = first; i < std::min(first + wide, nodes.size()); ++i) {
      nodes[i].put(x, y);
      covered |= nodes[i].rect();
      x += nodes[i].size.width() + gap;
      tallest = std::max(tallest, nodes[i].size.height());
    }
    y += tallest + kHostGap;
  }
  return covered;
}

// Centers the last row if it is not full.
void center_last_row(const Nodes& nodes, std::size_t wide, double middle) {
  const std::size_t in_last = nodes.size() % wide;
  if (in_last == 0) return;
  const auto row = std::span(nodes).last(in_last);
  const double by = middle - (row.front().rect() | row.back().rect()).center().x();
  for (const Node& one : row) one.put(*one.x + by, *one.y);
}

// Returns the number of columns at which the grid has about the aspect ratio of a window.
std::size_t columns_for(const Nodes& nodes) {
  QSizeF largest;
  for (const Node& one : nodes) largest = largest.expandedTo(one.size);
  const double tall_to_wide = (largest.height() + kHostGap) / (largest.width() + kHostGap);
  return static_cast<std::size_t>(std::max(
      2.0, std::round(std::sqrt(kAspect * static_cast<double>(nodes.size()) * tall_to_wide))));
}

// Places one or two hosts to the left and right of their switch, and more than two in rows above
// and below the switch. Returns the rectangle that switch and hosts cover.
QRectF place_around(const Node& hub, const Nodes& hosts, QPointF at) {
  if (hosts.size() <= 2) {
    Nodes row{hosts.begin(), hosts.begin() + std::min<std::ptrdiff_t>(1, std::ssize(hosts))};
    row.push_back(hub);
    if (hosts.size() == 2) row.push_back(hosts[1]);
    const QRectF covered = place_grid(row, at, 3, kBesideSwitch);
    for (const Node& one : row) one.put(*one.x, covered.center().y() - one.size.height() / 2);
    return covered;
  }
  const std::size_t wide = columns_for(hosts);
  // Fills all rows above the switch. A shorter row there would be crossed by links to hosts in
  // other rows.
  const std::size_t full = std::max<std::size_t>(1, hosts.size() / 2 / wide) * wide;
  const std::size_t above = std::min(full, hosts.size());
  const Nodes upper(hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(above)),
      lower(hosts.begin() + static_cast<std::ptrdiff_t>(above), hosts.end());
  const QRectF top = place_grid(upper, at, wide);
  const QRectF bottom =
      place_grid(lower, QPointF(at.x(), top.bottom() + 2 * kSwitchGap + hub.size.height()), wide);
  hub.put_center(QPointF(top.united(bottom).center().x(), (top.bottom() + bottom.top()) / 2));
  center_last_row(lower, wide, hub.rect().center().x());
  return top | bottom | hub.rect();
}

// Groups hosts by the switch of their first link; hosts without a switch are under "".
std::map<std::string, Nodes> hosts_by_switch(Topology& topology) {
  std::map<std::string, Nodes> groups;
  for (Host& host : topology.hosts) {
    std::string hub;
    for (const topology::Link& link : topology.links) {
      const std::string& other = link.from == host.name ? link.to : link.from;
      if (hub.empty() && (link.from == host.name || link.to == host.name) &&
          find_switch(topology, other))
        hub = other;
    }
    groups[hub].push_back(node(host));
  }
  return groups;
}

bool is_free(const Layout& layout, const QRectF& room) {
  const QRectF around = room.adjusted(-kCopyGap / 2, -kCopyGap / 2, kCopyGap / 2, kCopyGap / 2);
  return std::ranges::none_of(layout.nodes,
                              [&](const NodeBox& node) { return node.rect.intersects(around); }) &&
         std::ranges::none_of(layout.links,
                              [&](const LinkShape& link) { return link.path.intersects(room); });
}

// Returns all grid offsets to the right and downward whose larger coordinate is `far`. Offsets
// straight to the right or straight down come first.
std::vector<std::pair<int, int>> ring(int far) {
  std::vector<std::pair<int, int>> places{{far, 0}};
  for (int aside = 0; aside < far; ++aside) {
    if (aside > 0) places.emplace_back(far, aside);
    places.emplace_back(aside, far);
  }
  if (far > 0) places.emplace_back(far, far);
  return places;
}

bool covers_any(const QRectF& room, const std::vector<QRectF>& cards) {
  return std::ranges::any_of(cards, [&](const QRectF& card) { return card.intersects(room); });
}

// Adds two shifts, in grid steps, of the span [low, high]: one to just before the other span, and
// one to just after it.
void add_shifts(std::vector<double>& shifts, double low, double high, double other_low,
                double other_high) {
  shifts.push_back(std::floor((other_low - kCopyGap / 2 - high) / kGridStep) * kGridStep);
  shifts.push_back(std::ceil((other_high + kCopyGap / 2 - low) / kGridStep) * kGridStep);
}

void each_once(std::vector<double>& shifts) {
  std::ranges::sort(shifts);
  shifts.erase(std::unique(shifts.begin(), shifts.end()), shifts.end());
}

// Returns the shortest shift of the rectangle `room` after which it covers no card and has the
// minimum distance from every card.
QPointF shortest_shift(const QRectF& room, const std::vector<QRectF>& cards) {
  std::vector<double> across{0}, down{0};
  for (const QRectF& card : cards) {
    add_shifts(across, room.left(), room.right(), card.left(), card.right());
    add_shifts(down, room.top(), room.bottom(), card.top(), card.bottom());
  }
  each_once(across), each_once(down);  // cards in rows and columns give equal values
  std::vector<QPointF> ways;
  for (const double x : across)
    for (const double y : down) ways.emplace_back(x, y);
  std::ranges::stable_sort(ways, {}, [](QPointF way) { return QPointF::dotProduct(way, way); });
  const QRectF around = room.adjusted(-kCopyGap / 2, -kCopyGap / 2, kCopyGap / 2, kCopyGap / 2);
  return *std::ranges::find_if(ways, [&](QPointF way) {
    return !covers_any(around.translated(way), cards);
  });  // always found: beyond the last card is free space
}

}  // namespace

void align(Topology& topology, const std::set<std::string>& names, Edge edge) {
  const Nodes nodes = nodes_of(topology, names);
  QRectF all;
  for (const Node& one : nodes) all |= one.rect();
  if (nodes.size() > 1)
    for (const Node& one : nodes) align_one(one, all, edge);
}

void distribute(Topology& topology, const std::set<std::string>& names, Qt::Orientation direction) {
  Nodes nodes = nodes_of(topology, names);
  if (nodes.size() < 3) return;
  const bool across = direction == Qt::Horizontal;
  const auto start = [&](const Node& n) { return across ? *n.x : *n.y; };
  const auto extent = [&](const Node& n) { return across ? n.size.width() : n.size.height(); };
  std::ranges::sort(nodes, {}, start);
  double room = start(nodes.back()) - start(nodes.front());
  for (const Node& one : std::span(nodes).first(nodes.size() - 1)) room -= extent(one);
  const double gap = room / static_cast<double>(nodes.size() - 1);
  double at = start(nodes.front());
  for (const Node& one : nodes) {
    across ? one.put(at, *one.y) : one.put(*one.x, at);
    at += extent(one) + gap;
  }
}

Position free_offset(const Topology& into, const Topology& copy) {
  const QRectF box = lay_out(copy).bounds;
  if (box.isNull()) return {};
  const Layout layout = lay_out(into);
  const Position step = snapped({box.width() + kCopyGap, box.height() + kCopyGap});
  for (int far = 0;; ++far)  // terminates, because the drawing is finite
    for (const auto& [right, down] : ring(far))
      if (const Position by{right * step.x, down * step.y};
          is_free(layout, box.translated(by.x, by.y)))
        return by;
}

Position uncovered(const Topology& topology, Position corner, QSizeF size) {
  const QRectF room(QPointF(corner.x, corner.y), size);
  std::vector<QRectF> cards;
  for (const NodeBox& node : lay_out(topology).nodes) cards.push_back(node.rect);
  if (!covers_any(room, cards)) return corner;
  const QPointF by = shortest_shift(room, cards);
  return {corner.x + by.x(), corner.y + by.y()};
}

void make_room(Topology& topology, const std::string& name, std::size_t devices) {
  Host* host = find_host(topology, name);
  if (!host) return;
  const QPointF corner(host->x, host->y);
  const QRectF now(corner, host_size(host->devices.size())),
      room(corner, host_size(host->devices.size() + devices));
  std::vector<QRectF> others;
  for (const NodeBox& other : lay_out(topology).nodes)
    if (other.name != name && !other.rect.intersects(now)) others.push_back(other.rect);
  if (!covers_any(room, others)) return;
  const QPointF by = shortest_shift(room, others);
  host->x += by.x(), host->y += by.y();
}

void arrange(Topology& topology) {
  auto groups = hosts_by_switch(topology);
  Nodes spines;
  QRectF covered;
  for (Switch& one : topology.switches) {
    const auto hosts = groups.find(one.name);
    if (hosts == groups.end()) spines.push_back(node(one));
    else
      covered |= place_around(node(one), hosts->second,
                              QPointF(covered.isNull() ? 0 : covered.right() + kBlockGap, 0));
  }
  const Nodes& alone = groups[""];
  place_grid(alone, QPointF(0, covered.isNull() ? 0 : covered.bottom() + kBlockGap),
             columns_for(alone));
  const double spines_width =
      static_cast<double>(spines.size()) * (switch_size().width() + kHostGap) - kHostGap;
  if (!spines.empty())
    place_grid(spines,
               QPointF(covered.center().x() - spines_width / 2,
                       covered.top() - kBlockGap - switch_size().height()),
               spines.size());
}

}  // namespace trainyard::ui
