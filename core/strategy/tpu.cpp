// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/tpu.h"

#include "core/experiment/multiplies.h"
#include "core/strategy/strategy.h"

namespace trainyard::strategy {

base::Result<plan::Plan> tpu(const experiment::Resolved& experiment) {
  for (const base::Problems& problems : {experiment::non_tpu_problems(experiment.document.topology),
                                         experiment::torus_problems(experiment.document.strategy),
                                         experiment::multiplies_problems(experiment.document)})
    if (!problems.empty()) return base::fail(problems.front());
  return mirrored(experiment);
}

}  // namespace trainyard::strategy
