// SPDX-License-Identifier: GPL-3.0-or-later
// Answer to a request that is not carried out: a Problem, as a message.
#pragma once

#include <string>

#include "core/base/field_table.h"
#include "core/base/result.h"

namespace trainyard::session {

struct Refusal {
  std::string id{}, what{}, accepted{}, advice{};  // of a Problem
};

inline Refusal refusal_of(const base::Problem& problem) {
  return {problem.id, problem.what, problem.accepted, problem.advice};
}
inline base::Problem problem_of(const Refusal& refusal, const std::string& where) {
  return {refusal.id,   base::ProblemCode::refused, where,
          refusal.what, refusal.accepted,           refusal.advice};
}

}  // namespace trainyard::session

template <>
struct trainyard::base::Fields<trainyard::session::Refusal> {
  using R = trainyard::session::Refusal;
  static constexpr std::string_view title = "refused";
  static auto table() {
    return std::tuple{field("id", &R::id, "", {0, 1000}, "Id of the problem"),
                      field("what", &R::what, "", {0, 10'000}, "What is wrong"),
                      field("accepted", &R::accepted, "", {0, 10'000}, "What is accepted"),
                      field("advice", &R::advice, "", {0, 10'000}, "What to do")};
  }
};
