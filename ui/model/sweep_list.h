// SPDX-License-Identifier: GPL-3.0-or-later
// The sweeps that stand on disk.
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

// Newest first. One whose manifest cannot be read is listed by its directory: opening it says why.
// Reads files: not for the GUI thread.
std::vector<SweepEntry> list_sweeps(const QString& sweeps_directory);

}  // namespace trainyard::ui
