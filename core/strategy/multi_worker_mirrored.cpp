// SPDX-License-Identifier: GPL-3.0-or-later
#include <set>

#include "core/strategy/strategy.h"

namespace trainyard::strategy {

base::Result<plan::Plan> multi_worker_mirrored(const experiment::Resolved& experiment) {
  if (std::set<int>(experiment.hosts.begin(), experiment.hosts.end()).size() < 2)
    return base::fail({"one_host", base::ProblemCode::bad_input, "strategy.kind",
                       "multi_worker_mirrored needs several hosts, but all workers are on one host",
                       "workers on two hosts or more",
                       "Draw another host with a worker, or set strategy.kind to mirrored."});
  return mirrored(experiment);
}

}  // namespace trainyard::strategy
