// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/strategy.h"

namespace trainyard::strategy {

base::Result<plan::Plan> tensor_parallel(const experiment::Resolved&) {
  return base::fail({base::ProblemCode::unavailable, "strategy.kind", "has no plan yet", "another strategy", ""});
}

}  // namespace trainyard::strategy
