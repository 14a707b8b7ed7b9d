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

// torch.nn.parallel.DistributedDataParallel (Li et al. 2020): rank 0 broadcasts its parameters once, before the first step; then as
// mirrored, with the buckets in one fixed order, last layers first. Running statistics of batch normalisation stay each rank's own,
// where torch broadcasts them at every forward pass; gradients are reduced at every step (no `no_sync`).
base::Result<plan::Plan> ddp(const experiment::Resolved& experiment);

// Mirrored over workers on several hosts, which go in lock-step (tf.distribute.MultiWorkerMirroredStrategy): the same plan; how the
// hosts are joined is the all-reduce algorithm's. Refuses a single host.
base::Result<plan::Plan> multi_worker_mirrored(const experiment::Resolved& experiment);

// The strategy that the experiment names, coarse; and as ranks run it: expanded to chunks by its all-reduce algorithm, or coarse still and
// handed to the engine that takes collectives whole (plan/engine_lane.h).
base::Result<plan::Plan> coarse_plan(const experiment::Resolved& experiment);
base::Result<plan::Plan> make_plan(const experiment::Resolved& experiment);

}  // namespace trainyard::strategy
