// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/result.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "core/base/printable.h"

namespace trainyard::base {
namespace {

constexpr const char* kUseLessMemory = "Use a smaller batch, model or data set, or more memory.";

// Problem id and advice for an error number. They depend only on the system's reason, not on what
// was attempted.
struct Remedy {
  int error_number;
  const char* advice;
  const char* id = "system_error";
};

constexpr Remedy kRemedies[] = {
    {ENOSPC, "Free space on this disk, or choose a directory on another disk.", "no_space"},
    {EDQUOT, "Free space within your quota on this disk, or choose a directory on another disk.",
     "no_space"},
    {EFBIG,
     "Raise the limit on the size of a file (ulimit -f), or choose a directory on another disk.",
     "file_size_limit"},
    {EROFS, "Choose a directory on another disk, because this disk is read-only."},
    {EIO,
     "Choose a directory on another disk, and look for errors of this disk in the kernel's log "
     "(dmesg)."},
    {EACCES, "Change the permissions (chmod), or choose another directory.", "permission_denied"},
    {EPERM, "Change the permissions or the owner (chmod, chown), or choose another directory.",
     "permission_denied"},
    {ENOENT, "Check the path: a part of it does not exist.", "missing_file"},
    {ENOTDIR, "Check the path: it contains a file where a directory is expected."},
    {EISDIR, "Choose another name, because a directory already has this name."},
    {EEXIST, "Choose another name, or move the existing file or directory."},
    {ENOTEMPTY, "Choose another name, or move the existing directory."},
    {ENAMETOOLONG, "Choose a shorter name or path."},
    {ELOOP, "Check the symbolic links on the path: they form a cycle."},
    {EBUSY, "Wait until no other process uses the file or device, and try again."},
    {ETXTBSY, "Wait until no process runs or writes this program, and try again."},
    {EMFILE, "Raise the limit on open files (ulimit -n)."},
    {ENFILE, "Close other programs: the machine has too many open files."},
    {EAGAIN, "Close other programs, or raise the limit on processes (ulimit -u), and try again."},
    {ENOMEM, kUseLessMemory},
    {ENOEXEC, "Build or install the program again: the file cannot be executed on this machine."},
    {EADDRINUSE, "Choose another address or port, or end the program that listens there."},
    {EADDRNOTAVAIL, "Choose an address of this machine."},
};

Remedy remedy_for(int error_number) {
  const auto* known =
      std::find_if(std::begin(kRemedies), std::end(kRemedies),
                   [=](const Remedy& remedy) { return remedy.error_number == error_number; });
  return known != std::end(kRemedies)
             ? *known
             : Remedy{error_number, "Correct the reported cause, and try again."};
}

}  // namespace

std::string_view name(ProblemCode code) {
  switch (code) {
    case ProblemCode::bad_usage: return "bad_usage";
    case ProblemCode::bad_input: return "bad_input";
    case ProblemCode::unavailable: return "unavailable";
    case ProblemCode::refused: return "refused";
    case ProblemCode::failed: return "failed";
    case ProblemCode::canceled: return "cancelled";
  }
  return "failed";
}

std::string to_string(const Problem& problem) {
  std::string text = problem.where.empty() ? problem.what : problem.where + ": " + problem.what;
  if (!problem.accepted.empty()) text += " (accepted: " + problem.accepted + ")";
  if (!problem.advice.empty()) text += ". " + problem.advice;
  return printable_line(text);
}

std::string to_string(const Problems& problems) {
  std::string text;
  for (const Problem& problem : problems) text += to_string(problem) + "\n";
  return text;
}

Problem system_problem(std::string where, std::string what, int error_number) {
  const Remedy remedy = remedy_for(error_number);
  return {remedy.id,
          ProblemCode::failed,
          std::move(where),
          fmt::format("{}: {}", what, std::strerror(error_number)),
          "",
          remedy.advice};
}

Problem out_of_memory(std::string where) {
  return {"out_of_memory", ProblemCode::unavailable, std::move(where), "ran out of memory", "",
          kUseLessMemory};
}

}  // namespace trainyard::base
