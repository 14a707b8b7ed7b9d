// SPDX-License-Identifier: GPL-3.0-or-later
// RPC: trainers, each with its own samples, call layers on parameter servers. This is a mesh whose
// first stage has all replicas (the trainers); each later stage is one server that all trainers
// call (experiment/rpc.h).
#include "core/strategy/mesh.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {

base::Result<plan::Plan> rpc(const experiment::Resolved& experiment) {
  return mesh_plan(experiment);
}

}  // namespace trainyard::strategy
