// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/experiment/resolved.h"

#include <stdexcept>

namespace trainyard::experiment {

Resolved resolved(const Experiment& experiment) {
  auto result = resolve(experiment, "/nowhere");
  if (!result) throw std::runtime_error(base::to_string(result.error()));
  return *result;
}

}  // namespace trainyard::experiment
