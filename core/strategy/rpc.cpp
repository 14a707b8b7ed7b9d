// SPDX-License-Identifier: GPL-3.0-or-later
// Trainers, each with samples of its own, call layers that parameter servers keep. A mesh whose
// first stage has all replicas, the trainers, and each later one is a server, which all of them
// call (experiment/rpc.h).
#include "core/strategy/mesh.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {

base::Result<plan::Plan> rpc(const experiment::Resolved& experiment) {
  return mesh_plan(experiment);
}

}  // namespace trainyard::strategy
