// SPDX-License-Identifier: GPL-3.0-or-later
// Drawn speeds in a real run: which are imposed, and the caveats to show with its figures.
#pragma once

#include <string>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Returns the drawing with the link and bus speeds of the run: scaled if imposed, else as drawn.
topology::Topology as_imposed(const Experiment& experiment);

// Returns an upper bound of the time that imposed links may keep a run without any completed op:
// the full gradient of every rank for every rank, as all-to-all sends it, over the slowest link,
// plus all latencies. 0 if links are not imposed.
double max_op_gap_seconds(const Resolved& resolved);

// Text for a link: "drawn, not imposed", "imposed" or "imposed at 0.1 of drawn".
std::string link_speeds_line(const RunSpec& run);

// "slowed down 5 times, with a jitter of 0.2"; "with a jitter of 0.2"; "not slowed down".
std::string slow_down_line(double slow_down, double jitter);

// Text for a run: "speeds of links: imposed; of devices: drawn, not imposed", "... of devices:
// PACED to the drawn ones".
std::string speeds_line(const RunSpec& run);

}  // namespace trainyard::experiment
