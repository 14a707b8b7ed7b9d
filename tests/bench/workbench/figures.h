// SPDX-License-Identifier: GPL-3.0-or-later
// What is measured of the workbench, painted by software.
#pragma once

namespace trainyard::bench {

struct LiveDrawing {
  double frames_per_second = 0, longest_stall = 0;  // milliseconds
};

// A canvas of 200 devices whose states and traffic all change, beside four charts of eight series that grow at 100,000 points each.
LiveDrawing live_drawing();

// Milliseconds; a log of 100 MB, opened, filtered by rank, searched, shown whole again and copied.
double long_log_stall();

// Milliseconds; the whole window while four processes train: charts alone, every panel in turn, edits, a save, a zoom. Nothing is
// measured, and 0 comes back, when they do not get as far as to train: it is said why.
double live_window_stall();

}  // namespace trainyard::bench
