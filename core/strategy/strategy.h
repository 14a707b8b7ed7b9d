// SPDX-License-Identifier: GPL-3.0-or-later
// A strategy is a pure function from a resolved experiment to a plan. One file a strategy.
#pragma once

#include <vector>

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// Everything on one device. Refuses more than one rank.
base::Result<plan::Plan> one_device(const experiment::Resolved& experiment);

// A replica of the model on every rank; gradients are summed in buckets, last layers first, while the backward pass of the
// earlier layers goes on; every rank then makes the same update (tf.distribute.MirroredStrategy; the buckets are those of
// torch DDP, Li et al. 2020). Coarse: one AllReduce op a bucket.
base::Result<plan::Plan> mirrored(const experiment::Resolved& experiment);

// The strategy that the experiment names, coarse; and expanded to chunks by its all-reduce algorithm, as ranks run it.
base::Result<plan::Plan> coarse_plan(const experiment::Resolved& experiment);
base::Result<plan::Plan> make_plan(const experiment::Resolved& experiment);

}  // namespace trainyard::strategy
