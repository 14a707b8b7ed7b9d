// SPDX-License-Identifier: GPL-3.0-or-later
// Selects the lines of the link traffic chart: one per drawn link and direction, and one per bus
// with traffic between ranks of its host.
#pragma once

#include <QString>
#include <vector>

#include "core/telemetry/history.h"

namespace trainyard::ui {

struct LinkLine {
  QString id, label;  // "host0 → switch0"; "host0 bus (shared memory)"
  int color = 0;      // index of the color; both directions of a link have the same one
  bool backward = false;
  // totals of payload, for all pairs of ranks routed over the link, and the share of each that
  // takes the link
  std::vector<telemetry::SeriesKey> sent{};
  std::vector<double> shares{};
};

// Returns the lines of links and buses with traffic, in the drawing's order, links first. A bus
// that only carries traffic to or from links is omitted, because the links show that traffic.
std::vector<LinkLine> link_lines(const telemetry::History& history);

}  // namespace trainyard::ui
