// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/navigation.h"

#include <QObject>
#include <algorithm>
#include <cmath>

#include "ui/model/text/count_text.h"
#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {
namespace {

QString describe_link(const topology::Topology& topology, const LinkName& name) {
  const int index = find_link(topology, name);
  if (index < 0) return {};
  const topology::Link* link = &topology.links[static_cast<std::size_t>(index)];
  return QObject::tr("Link from %1 to %2: %3.")
      .arg(as_text(link->from), as_text(link->to),
           speed_text(link->bandwidth_bits_per_second, link->latency_seconds));
}

QString describe_device(const topology::Topology& topology, const topology::Device& device,
                        bool emulated, const QStringList& imposed, const QString& holding) {
  const QString host = as_text(host_of(topology, device.name)->name);
  const QString what = QObject::tr("%1: %2, %3, on %4. %5.")
                           .arg(as_text(device.name), device_kind_text(device.kind, emulated),
                                role_text(topology, device), host, device_figures(device));
  const QString marked = imposed.empty() ? what : what + " " + imposed.join(", ") + ".";
  return holding.isEmpty() ? marked : QObject::tr("%1 It %2.").arg(marked, holding);
}

QString describe_host(const topology::Host& host) {
  return QObject::tr("%1: host with %n device(s), %2.", nullptr,
                     plural(static_cast<std::int64_t>(host.devices.size())))
      .arg(as_text(host.name), address_text(host));
}

}  // namespace

std::vector<TopologyObject> reading_order(const Layout& layout) {
  std::vector<TopologyObject> order;
  for (const NodeBox& node : layout.nodes) {
    order.push_back({node.kind, node.name, {}});
    for (const TileBox& tile : node.tiles)
      order.push_back({TopologyObject::Kind::device, tile.name, {}});
  }
  for (const LinkShape& link : layout.links)
    order.push_back({TopologyObject::Kind::link, {}, link.name});
  return order;
}

TopologyObject next_object(const Layout& layout, const TopologyObject& from, int by) {
  const std::vector<TopologyObject> order = reading_order(layout);
  if (order.empty()) return {};
  const auto at = std::ranges::find(order, from);
  if (at == order.end()) return by > 0 ? order.front() : order.back();
  const auto count = std::ssize(order);
  return order[static_cast<std::size_t>(((at - order.begin() + by) % count + count) % count)];
}

TopologyObject nearest_object(const Layout& layout, const TopologyObject& from, QPointF direction) {
  const QPointF start = layout.rect_of(from).center();
  TopologyObject best = from;
  double least = INFINITY;
  for (const TopologyObject& part : reading_order(layout)) {
    const QPointF way = layout.rect_of(part).center() - start;
    const double ahead = QPointF::dotProduct(way, direction),
                 off_axis = std::fabs(way.x() * direction.y()) + std::fabs(way.y() * direction.x());
    if ((part.kind == TopologyObject::Kind::device) != (from.kind == TopologyObject::Kind::device))
      continue;  // arrow keys go from tile to tile; Tab enters and leaves hosts
    const double cost = ahead + 2 * off_axis +
                        (part.kind == TopologyObject::Kind::link && from.is_node() ? 1000 : 0);
    if (part != from && ahead > std::max(1.0, off_axis / 2) && cost < least)
      least = cost, best = part;
  }
  return best;
}

QString describe(const topology::Topology& topology, const TopologyObject& part, bool emulated,
                 const QStringList& imposed, const QString& holding) {
  if (part.kind == TopologyObject::Kind::link) return describe_link(topology, part.link);
  if (const topology::Device* device = find_device(topology, part.name))
    return describe_device(topology, *device, emulated, imposed, holding);
  if (const topology::Host* host = find_host(topology, part.name)) return describe_host(*host);
  return part ? QObject::tr("%1: switch.").arg(as_text(part.name)) : QString();
}

}  // namespace trainyard::ui
