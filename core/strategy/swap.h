// SPDX-License-Identifier: GPL-3.0-or-later
// What a device needs again only later is put aside meanwhile, in the host's memory or in a file
// (experiment::SwapSpec; Rhu et al. 2016, "vDNN", of activations; Rajbhandari et al. 2021,
// "ZeRO-Infinity", of moments). A pass over the finished, coarse plan of a rank, whatever strategy
// made it: no op of another lane comes, goes or changes its number.
//
// Outputs: where more than kBehind + kAhead segments pass between two compute ops of a program that
// touch an output, the second of which reads it, OUT takes it away after the first, and IN brings
// it back before the second. What has its room then waits for OUT; that is, the op kBehind segments
// after the first does, so that at most so many are on their way out. IN may begin kAhead segments
// before the second. So of L segments in a row that all are asked for in the backward pass a device
// has the outputs of kAhead + 2 and two gradients at once in the place of L - 1 and two, where
// kBehind is no more. What other lanes touch stays, as what peers read or send; of several
// micro-batches side by side each is a buffer of its own then.
//
// Moments: where they are at home; on the device there is room for those of two segments that are
// updated one after the other: the moments of one come, or go, during the update of the other.
#pragma once

#include "core/experiment/experiment.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

inline constexpr std::int32_t kBehind = 2, kAhead = 2;  // segments, of one direction and micro-step

void put_aside(plan::RankPlan& rank, const experiment::SwapSpec& spec);

}  // namespace trainyard::strategy
