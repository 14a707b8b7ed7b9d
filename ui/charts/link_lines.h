// SPDX-License-Identifier: GPL-3.0-or-later
// Which lines the traffic of links has: each drawn link, one for each way, and each bus over which
// ranks of one host talk.
#pragma once

#include <QString>
#include <vector>

#include "core/telemetry/history.h"

namespace trainyard::ui {

struct LinkLine {
  QString id, label;  // "host0 → switch0"; "host0 bus (shared memory)"
  int colour = 0;     // one a link
  bool backward = false;
  std::vector<telemetry::SeriesKey>
      sent{};  // totals of payload, of all pairs of ranks whose route crosses it
};

// In the order of the drawing, links first; of those that were crossed. A bus that bytes only leave
// or enter over links is not among them: what it carries is what its links do.
std::vector<LinkLine> link_lines(const telemetry::History& history);

}  // namespace trainyard::ui
