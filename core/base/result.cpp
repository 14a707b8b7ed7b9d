// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/result.h"

#include <cstring>

namespace trainyard::base {

std::string_view name(ProblemCode code) {
  switch (code) {
    case ProblemCode::bad_usage: return "bad_usage";
    case ProblemCode::bad_input: return "bad_input";
    case ProblemCode::unavailable: return "unavailable";
    case ProblemCode::refused: return "refused";
    case ProblemCode::failed: return "failed";
    case ProblemCode::cancelled: return "cancelled";
  }
  return "failed";
}

std::string to_string(const Problem& problem) {
  std::string text = problem.where.empty() ? problem.what : problem.where + ": " + problem.what;
  if (!problem.accepted.empty()) text += " (accepted: " + problem.accepted + ")";
  if (!problem.advice.empty()) text += ". " + problem.advice;
  return text;
}

std::string to_string(const Problems& problems) {
  std::string text;
  for (const Problem& problem : problems) text += to_string(problem) + "\n";
  return text;
}

Problem system_problem(std::string where, std::string what, int error_number) {
  return {ProblemCode::failed, std::move(where), std::move(what) + ": " + std::strerror(error_number), "", ""};
}

Problem out_of_memory(std::string where) {
  return {ProblemCode::unavailable, std::move(where), "ran out of memory", "", "Use a smaller batch, model or data set, or more memory."};
}

}  // namespace trainyard::base
