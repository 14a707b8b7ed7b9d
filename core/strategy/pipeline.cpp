// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/mesh.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {

base::Result<plan::Plan> pipeline(const experiment::Resolved& experiment) {
  return mesh_plan(experiment);
}

}  // namespace trainyard::strategy
