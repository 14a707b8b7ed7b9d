// SPDX-License-Identifier: GPL-3.0-or-later
// Errors as values. Validation, the command line, the workbench and messages between processes all
// use the same Problem.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace trainyard::base {

enum class ProblemCode {
  bad_usage,    // an invalid command line
  bad_input,    // an invalid document, file or frame
  unavailable,  // a device, file or address that this machine does not provide
  refused,      // versions, plans or keys do not match
  failed,       // a failure at run time
  canceled,     // stopped by the user
};

std::string_view name(ProblemCode code);

// An error for the user: where it is, what was found, what is accepted, what to do.
struct Problem {
  std::string id;  // stable name of the kind of error, for example "unknown_key"; snake_case
  ProblemCode code = ProblemCode::failed;
  // location: a field ("training.steps"), a file, a field of a file ("a.json: training.steps") or
  // of an override ("--set: training.steps"), a command and its option, or a rank and its op
  std::string where;
  std::string what;      // one sentence without a period
  std::string accepted;  // values that are accepted at this location; may be empty
  std::string advice;    // what to do next; may be empty

  bool operator==(const Problem&) const = default;
};

using Problems = std::vector<Problem>;

// Formats as "where: what (accepted: ...). advice".
std::string to_string(const Problem& problem);
std::string to_string(const Problems& problems);  // one per line

template <class T>
using Result = tl::expected<T, Problem>;

inline tl::unexpected<Problem> fail(Problem problem) {
  return tl::unexpected<Problem>(std::move(problem));
}

// Returns the Problem of a failed system call. `what` is what was attempted, `error_number` is why
// it failed. The id is missing_file, no_space, file_size_limit, permission_denied, or, for all
// other reasons, system_error.
Problem system_problem(std::string where, std::string what, int error_number);

// Returns the Problem for std::bad_alloc, which the main functions of programs and ranks catch.
Problem out_of_memory(std::string where);

}  // namespace trainyard::base
