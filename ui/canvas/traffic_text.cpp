// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/traffic_text.h"

#include <algorithm>

#include "core/base/units.h"
#include "ui/model/text/count_text.h"
#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {
namespace {

// Traffic of unknown kind is listed only above this fraction of all bytes. A smaller amount may be
// a message at the boundary of two steps: its kind is unknown until both steps have been read.
constexpr double kMinShownFraction = 0.1;

// Adds a line for one payload kind in one direction. `receiver` is empty if it is clear.
void add(QStringList& lines, PayloadKind payload, double bytes_per_second,
         const QString& receiver) {
  if (bytes_per_second <= 0) return;
  const QString kind = as_text(payload), speed = rate(bytes_per_second);
  lines << (receiver.isEmpty() ? QObject::tr("%1 %2").arg(kind, speed)
                               : QObject::tr("%1 %2 to %3").arg(kind, speed, receiver));
}

void add_rest(QStringList& lines, const LinkOverlay& live) {
  if (const double rest = live.total() - live.known_total();
      !lines.empty() && rest > kMinShownFraction * live.total())
    lines << QObject::tr("%1 unclassified").arg(rate(rest));
}

QStringList with_head(const QString& head, const LinkOverlay& live, const QStringList& lines) {
  return live.total() > 0 && !lines.empty() ? QStringList(head.arg(rate(live.total()))) + lines
                                            : QStringList();
}

}  // namespace

QString rate(double bytes_per_second) { return as_text(base::with_unit(bytes_per_second, "B/s")); }

QString traffic_kinds(const LinkOverlay& live) {
  QStringList kinds;
  for (const PayloadRate& one : live.payload) kinds << as_text(one.payload);
  return kinds.join(", ");
}

QStringList lines_of_link(const LinkOverlay& live, const LinkName& link) {
  QStringList lines;
  for (const PayloadRate& one : live.payload) {
    add(lines, one.payload, one.forward, as_text(link.to));
    add(lines, one.payload, one.backward, as_text(link.from));
  }
  add_rest(lines, live);
  return lines;
}

QStringList lines_of_bus(const LinkOverlay& live) {
  QStringList lines;
  for (const PayloadRate& one : live.payload) add(lines, one.payload, one.total(), {});
  add_rest(lines, live);
  return lines;
}

QStringList lines_of_picked(const Overlay& overlay, const SelectedObjects& picked) {
  if (picked.size() != 1) return {};
  if (!picked.links.empty()) {
    const auto at = overlay.links.find(*picked.links.begin());
    return at == overlay.links.end()
               ? QStringList()
               : with_head(QObject::tr("Traffic of the link, both directions: %1"), at->second,
                           lines_of_link(at->second, at->first));
  }
  const auto at = overlay.buses.find(*picked.names.begin());
  return at == overlay.buses.end() ? QStringList()
                                   : with_head(QObject::tr("Traffic of the host bus: %1"),
                                               at->second, lines_of_bus(at->second));
}

}  // namespace trainyard::ui
