// SPDX-License-Identifier: GPL-3.0-or-later
// Drawn speeds in a real run: speeds of throttled (imposed) links, and texts that say which speeds
// apply to a run.
#pragma once

#include <string>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Returns the drawing with the link and bus speeds of the run. With run.links imposed, they are
// scaled by run.link_scale; otherwise they are as drawn.
topology::Topology as_imposed(const Experiment& experiment);

// Returns for how many seconds a healthy run may complete no op because its links are throttled.
// The bound assumes that every rank sends its full gradient to every rank over the slowest link,
// and adds all latencies. Returns 0 if links are not throttled.
double max_op_gap_seconds(const Resolved& resolved);

// Returns which speed applies to links: "not imposed", "imposed" or "imposed at 0.1 of drawn".
std::string link_speeds_line(const RunSpec& run);

// Returns the slowdown of a rank, for example "slowed down 5 times, with a jitter of 0.2".
std::string slow_down_line(double slow_down, double jitter);

// Returns whether links and devices are throttled to their drawn speeds in a run, for example
// "speeds of links: imposed; of devices: not imposed".
std::string speeds_line(const RunSpec& run);

}  // namespace trainyard::experiment
