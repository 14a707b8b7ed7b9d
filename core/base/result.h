// SPDX-License-Identifier: GPL-3.0-or-later
// Errors as values. The same Problem is shown by validation, the command line, the workbench and
// the wire.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace trainyard::base {

enum class ProblemCode {
  bad_usage,    // a command line that cannot be read
  bad_input,    // a document, file or frame that cannot be accepted
  unavailable,  // a device, file or address that this machine cannot give
  refused,      // versions, plans or keys that do not match
  failed,       // something broke while running
  cancelled,    // a person stopped it
};

std::string_view name(ProblemCode code);

// What went wrong, for a person: where, what was found, what would be accepted, what to do.
struct Problem {
  ProblemCode code = ProblemCode::failed;
  std::string where;     // a JSON path, a file, a rank and op
  std::string what;      // one sentence without a final stop
  std::string accepted;  // what is accepted there; may be empty
  std::string advice;    // what to do next; may be empty

  bool operator==(const Problem&) const = default;
};

using Problems = std::vector<Problem>;

// "where: what (accepted: ...). advice"
std::string to_string(const Problem& problem);
std::string to_string(const Problems& problems);  // one a line

template <class T>
using Result = tl::expected<T, Problem>;

inline tl::unexpected<Problem> fail(Problem problem) {
  return tl::unexpected<Problem>(std::move(problem));
}

// A failed system call, in words: `what` says what was tried, errno says why.
Problem system_problem(std::string where, std::string what, int error_number);

// What std::bad_alloc says, for where it ends: at the main of a program and of a rank.
Problem out_of_memory(std::string where);

}  // namespace trainyard::base
