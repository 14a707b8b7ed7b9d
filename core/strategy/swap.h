// SPDX-License-Identifier: GPL-3.0-or-later
// Offloading to host memory or a file (experiment::OffloadSpec; Rhu et al. 2016, "vDNN", for
// activations; Rajbhandari et al. 2021, "ZeRO-Infinity", for moments). This is a pass over a rank's
// finished plan of any strategy, before collectives are expanded. This pass adds ops to the copy
// lane only. It does not add, remove or renumber ops of other lanes.
//
// Activations: an output is offloaded if two compute ops of a program access it more than kBehind +
// kAhead segments apart, and the second reads it. An op OUT offloads it after the first op, and IN
// fetches it before the second. The memory of the output is reused only after OUT. Therefore the op
// that is kBehind segments after the first op waits for OUT, which limits the number of offloads in
// progress. IN may begin kAhead segments before the second op. For example, if L consecutive
// segments are all read in the backward pass, and kBehind is at most kAhead, a device holds kAhead
// + 2 outputs and two gradients at once, instead of L - 1 outputs and two gradients. Buffers that
// other lanes access are not offloaded, for example those that peers read. A buffer with several
// micro-batches side by side becomes one buffer per micro-batch.
//
// Moments are in host memory or in the file. The device has memory for those of two consecutive
// updates, so that one segment's moments are fetched or offloaded during another's update.
#pragma once

#include "core/experiment/experiment.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// `kBehind`: number of segments that an offload may overlap; the next segment waits for its end.
// `kAhead`: number of segments before its first use at which a fetch may begin. Both apply within
// one pass of one micro-step.
inline constexpr std::int32_t kBehind = 2, kAhead = 2;

void add_offloading(plan::RankPlan& rank, const experiment::OffloadSpec& spec);

}  // namespace trainyard::strategy
