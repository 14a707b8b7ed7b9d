// SPDX-License-Identifier: GPL-3.0-or-later
// Problems of an experiment. Its files are relative to the working directory.
#pragma once

#include "core/experiment/document.h"
#include "tests/problem_matchers.h"

namespace trainyard::experiment {

using base::Mentions;

// Returns the first problem of validation, or an empty one.
base::Problem first_problem(const Experiment& e);

// Returns all problems of validation.
base::Problems problems_of(const Experiment& e);

// Returns the first problem of resolving, or an empty one.
base::Problem refused(const Experiment& e);

}  // namespace trainyard::experiment
