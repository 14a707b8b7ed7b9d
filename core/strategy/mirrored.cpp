// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/sync_batch_norm.h"
#include "core/experiment/vertical.h"
#include "core/strategy/replica.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {

base::Result<plan::Plan> mirrored(const experiment::Resolved& experiment) {
  if (experiment.world() < 1)
    return base::fail({"no_worker", base::ProblemCode::bad_input, "topology.hosts",
                       "no device has the role worker", "at least one worker",
                       "Draw a device, or set the role of a device to worker."});
  const auto cuts = buckets(experiment);
  const bool alone = experiment.world() == 1;  // nothing to sum: the plan of one device
  const std::size_t groups = alone ? 0
                                   : 1U + (experiment::synchronizes(experiment) ? 1 : 0) +
                                         (experiment::shards_columns(experiment) ? 1 : 0);
  return plan::Plan{experiment.world(), std::vector(groups, world_group(experiment)),
                    schedule(experiment), [experiment, cuts, alone](std::int32_t rank) {
                      return replica(experiment, rank, cuts, alone ? -1 : 0);
                    }};
}

}  // namespace trainyard::strategy
