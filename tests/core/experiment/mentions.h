// SPDX-License-Identifier: GPL-3.0-or-later
// Matcher of numbers and names in the text of a problem.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "tests/problem_matchers.h"

namespace trainyard::base {

// Matches a problem whose text contains this number or name. Distinguishes faults with the same id.
inline auto Mentions(const std::string& detail) {
  return testing::ResultOf(
      "text", [](const Problem& problem) { return to_string(problem); },
      testing::HasSubstr(detail));
}

}  // namespace trainyard::base
