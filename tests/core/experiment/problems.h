// SPDX-License-Identifier: GPL-3.0-or-later
// What is told of an experiment, for tests: its files are looked for where the test runs.
#pragma once

#include <string>

#include "core/experiment/document.h"

namespace trainyard::experiment {

// Of validation, the first; empty where all is well.
base::Problem first_problem(const Experiment& e);

// Of validation, all of them as text.
std::string problems_of(const Experiment& e);

// Of resolving, the first; empty where all is well.
base::Problem refused(const Experiment& e);

}  // namespace trainyard::experiment
