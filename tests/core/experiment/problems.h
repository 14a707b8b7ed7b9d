// SPDX-License-Identifier: GPL-3.0-or-later
// Problems of an experiment, for tests: its files are relative to the test's directory.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "core/experiment/document.h"
#include "tests/problem_matchers.h"

namespace trainyard::experiment {

// Returns the first problem of validation, or an empty one.
base::Problem first_problem(const Experiment& e);

// Returns all problems of validation.
base::Problems problems_of(const Experiment& e);

// Returns the first problem of resolving, or an empty one.
base::Problem refused(const Experiment& e);

// Matches a problem whose text contains this number or name. Distinguishes faults with the same id.
inline auto Mentions(const std::string& detail) {
  return testing::ResultOf(
      "text", [](const base::Problem& problem) { return base::to_string(problem); },
      testing::HasSubstr(detail));
}

}  // namespace trainyard::experiment
