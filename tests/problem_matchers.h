// SPDX-License-Identifier: GPL-3.0-or-later
// Matcher of base::Problem by id and location; tests never compare the wording of a message.
#pragma once

#include <gmock/gmock.h>

#include <ostream>

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

}  // namespace trainyard::base
