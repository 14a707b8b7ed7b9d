// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/mesh.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {

base::Result<plan::Plan> tensor_parallel(const experiment::Resolved& experiment) {
  return experiment.world() > 1 ? mesh_plan(experiment)
                                : mirrored(experiment);  // a single rank has nothing to split
}

}  // namespace trainyard::strategy
