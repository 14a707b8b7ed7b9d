// SPDX-License-Identifier: GPL-3.0-or-later
// Measurements of the workbench, painted by software.
#pragma once

#include <string>

namespace trainyard::bench {

struct LiveDrawing {
  double frames_per_second = 0, longest_stall = 0;  // milliseconds
};

// A canvas of 200 devices whose states and traffic all change, beside four charts of eight series
// that grow at 100,000 points each.
LiveDrawing live_drawing();

// Milliseconds; a log of 100 MB, opened, filtered by rank, searched, shown whole again and copied.
double long_log_stall();

struct TimelineFigure {
  double frames_per_second = 0, longest_stall = 0;  // milliseconds
};

// The timeline of 64 ranks of 10,000 ops each: opened, and zoomed with all ranks in sight.
TimelineFigure long_timeline();

struct LiveWindow {
  double first_step = 0;  // milliseconds from pressing Run until the last rank had done its first
                          // step, as the recording has it
  double longest_stall = 0;  // milliseconds
  double with_others = 0;    // the same, with the time that other processes had the processor
  double cores = 0;          // that the window itself kept busy while it watched the training
  std::string worst;         // what was done when the window stalled so long
  std::string
      failed;  // what did not come about, and why; empty: all did. Else the figures say nothing
};

// The whole window, from its first layout on, while four processes train: Run, every panel in turn,
// an edit, a save, a zoom, what charts can be told, a run of 20,000 steps ticked beside it, and
// opened.
LiveWindow live_window();

}  // namespace trainyard::bench
