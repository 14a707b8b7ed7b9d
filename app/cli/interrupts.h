// SPDX-License-Identifier: GPL-3.0-or-later
// Ctrl-C, Ctrl-Z and other requests to end or suspend the program.
#pragma once

#include <cstdint>
#include <string>

#include "core/session/system/job_control.h"

namespace trainyard::cli {

// Starts to count SIGINT, SIGTERM and SIGHUP. A closed pipe or a file at its size limit becomes an
// error to report instead of ending the process.
void catch_signals();
int interrupts();  // returns the number of interrupts so far

// While an object exists, the first interrupt ends the process with exit code 130, after it printed
// `error` to standard error and `output` to standard output. For phases that cannot be canceled
// otherwise and leave nothing behind. Only one object exists at a time.
class ExitOnInterrupt {
 public:
  ExitOnInterrupt(const std::string& error, const std::string& output);
  ~ExitOnInterrupt();
  ExitOnInterrupt(const ExitOnInterrupt&) = delete;
  ExitOnInterrupt& operator=(const ExitOnInterrupt&) = delete;
};

// Installs a handler for requests of the terminal to suspend the program (Ctrl-Z, SIGTSTP).
session::JobControl catch_suspension();

// Makes the end of the parent process count as an interrupt. Returns false if the parent has
// already ended, that is, if the parent of this process is not `process`.
bool end_with(std::int64_t process);

}  // namespace trainyard::cli
