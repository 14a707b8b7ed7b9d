// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include "core/strategy/replica.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {

base::Result<plan::Plan> one_device(const experiment::Resolved& experiment) {
  if (experiment.world() != 1)
    return base::fail(
        {"too_many_workers", base::ProblemCode::bad_input, "strategy.kind",
         fmt::format("one_device uses one device, but {} have the role worker", experiment.world()),
         "one worker", "Set the role of the other devices to idle, or strategy.kind to mirrored."});
  const auto cuts = buckets(experiment);
  return plan::Plan{1, {}, schedule(experiment), [experiment, cuts](std::int32_t rank) {
                      return replica(experiment, rank, cuts, -1);
                    }};
}

}  // namespace trainyard::strategy
