// SPDX-License-Identifier: GPL-3.0-or-later
// Matchers of the data in a problem: numbers, names and paths, never prose. They tell apart
// problems that have the same id and location.
#pragma once

#include <string>

#include "tests/problem_matchers.h"

namespace trainyard::base {

// Matches a problem whose `what` contains `data`.
inline auto Reports(const std::string& data) {
  return testing::Field("what", &Problem::what, testing::HasSubstr(data));
}

// Matches a problem whose `accepted` contains `data`.
inline auto Accepts(const std::string& data) {
  return testing::Field("accepted", &Problem::accepted, testing::HasSubstr(data));
}

// Matches a problem whose `advice` contains `data`.
inline auto Advises(const std::string& data) {
  return testing::Field("advice", &Problem::advice, testing::HasSubstr(data));
}

}  // namespace trainyard::base
