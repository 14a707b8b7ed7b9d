// SPDX-License-Identifier: GPL-3.0-or-later
// List of the sweeps on this machine's disk, read from their directories.
#pragma once

#include <QString>
#include <vector>

namespace trainyard::ui {

struct SweepEntry {
  QString directory;
  QString title;  // name, time and state: "digits, 2026-11-21 14:03:12, completed"
  bool live = false;

  bool operator==(const SweepEntry&) const = default;
};

// Returns the sweeps, newest first. A sweep with an unreadable manifest is listed by its directory;
// opening it reports the reason. Reads files: do not call it on the GUI thread.
std::vector<SweepEntry> list_sweeps(const QString& sweeps_directory);

}  // namespace trainyard::ui
