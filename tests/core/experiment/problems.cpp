// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/experiment/problems.h"

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

base::Problem first_problem(const Experiment& e) {
  const base::Problems problems = validate(e, ".");
  return problems.empty() ? base::Problem{} : problems.front();
}

base::Problems problems_of(const Experiment& e) { return validate(e, "."); }

base::Problem refused(const Experiment& e) {
  const auto resolved = resolve(e, ".");
  return resolved ? base::Problem{} : resolved.error();
}

}  // namespace trainyard::experiment
