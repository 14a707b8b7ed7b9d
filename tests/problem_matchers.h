// SPDX-License-Identifier: GPL-3.0-or-later
// Matchers of base::Problem: its id and location, and data in its text such as numbers and names.
// Tests never compare the wording of a message.
#pragma once

#include <gmock/gmock.h>

#include <ostream>
#include <string>

#include "core/base/result.h"

namespace trainyard::base {

// googletest prints a problem with it when a comparison fails.
inline void PrintTo(const Problem& problem, std::ostream* out) {
  *out << problem.id << " at '" << problem.where << "': " << to_string(problem);
}

// Matches a problem with this id and this `where`. Both may be strings or matchers:
//   EXPECT_THAT(validate(e, "."), ElementsAre(IsProblem("unknown_key", "model.layers[0].heads")));
template <class Id, class Where>
auto IsProblem(Id id, Where where) {
  return testing::AllOf(testing::Field("id", &Problem::id, id),
                        testing::Field("where", &Problem::where, where));
}

// Matches a problem with this id, at any location.
template <class Id>
auto IsProblem(Id id) {
  return testing::Field("id", &Problem::id, id);
}

// The following matchers distinguish problems that have the same id and location, by a number, a
// name or a path in their text.

// Matches a problem whose full text contains `data`.
inline auto Mentions(const std::string& data) {
  return testing::ResultOf(
      "text", [](const Problem& problem) { return to_string(problem); }, testing::HasSubstr(data));
}

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
