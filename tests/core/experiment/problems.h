// SPDX-License-Identifier: GPL-3.0-or-later
// Problems of an experiment, for tests: its files are relative to the test's directory.
#pragma once

#include <string>

#include "core/experiment/document.h"

namespace trainyard::experiment {

// Returns the first problem of validation, or an empty one.
base::Problem first_problem(const Experiment& e);

// Returns all problems of validation as text.
std::string problems_of(const Experiment& e);

// Returns the first problem of resolving, or an empty one.
base::Problem refused(const Experiment& e);

}  // namespace trainyard::experiment
