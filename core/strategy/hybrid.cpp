// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/strategy.h"

namespace trainyard::strategy {

base::Result<plan::Plan> hybrid(const experiment::Resolved&) {
  return base::fail({base::ProblemCode::bad_input, "strategy.kind", "hybrid is not built yet", "", "choose another strategy"});
}

}  // namespace trainyard::strategy
