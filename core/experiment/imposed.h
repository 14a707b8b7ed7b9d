// SPDX-License-Identifier: GPL-3.0-or-later
// What of the drawn speeds holds in a real run, and what is to be said beside its figures.
#pragma once

#include <string>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// The drawing with its links and busses as they hold in a run: scaled where they are imposed, else
// as drawn.
topology::Topology as_imposed(const Experiment& experiment);

// How long imposed links may keep a run from doing any op: every rank's whole gradient for every
// rank, as all to all sends it, over the narrowest of them, and all latencies. 0 where they are not
// imposed.
double longest_silence_seconds(const Resolved& resolved);

// Of a link: "drawn, not imposed", "imposed" or "imposed at 0.1 of drawn".
std::string link_speeds_said(const RunSpec& run);

// "slowed down 5 times, with a jitter of 0.2"; "with a jitter of 0.2"; "not slowed down".
std::string slowness_said(double slow_down, double jitter);

// Of a whole run: "speeds of links: imposed; of devices: drawn, not imposed", "... of devices:
// PACED to the drawn ones".
std::string speeds_said(const RunSpec& run);

}  // namespace trainyard::experiment
