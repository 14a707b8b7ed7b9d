// SPDX-License-Identifier: GPL-3.0-or-later
// Offloading to host memory or a file (experiment::OffloadSpec; Rhu et al. 2016, "vDNN", for
// activations; Rajbhandari et al. 2021, "ZeRO-Infinity", for moments). A pass over a rank's
// finished coarse plan of any strategy: it adds, removes or renumbers no op of another lane.
//
// Activations: if two compute ops of a program access an output, more than kBehind + kAhead
// segments apart, and the second reads it, OUT offloads it after the first op and IN fetches it
// before the second. Its memory is reused only after OUT; therefore the op kBehind segments after
// the first waits for OUT, which limits the offloads in progress. IN may begin kAhead segments
// before the second op. So if L consecutive segments are all read in the backward pass, a device
// holds kAhead + 2 outputs and two gradients at once, instead of L - 1 and two, if kBehind is not
// larger. Buffers that other lanes access are not offloaded, for example those that peers read. Of
// several micro-batches side by side, each becomes a separate buffer.
//
// Moments: their home is host memory or the file. The device has room for those of two consecutive
// updates, so that one segment's moments are fetched or offloaded during another's update.
#pragma once

#include "core/experiment/experiment.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

inline constexpr std::int32_t kBehind = 2, kAhead = 2;  // segments of one direction and micro-step

void add_offloading(plan::RankPlan& rank, const experiment::OffloadSpec& spec);

}  // namespace trainyard::strategy
