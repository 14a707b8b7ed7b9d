// SPDX-License-Identifier: GPL-3.0-or-later
// Ctrl-C and other requests to end the program.
#pragma once

#include <cstdint>

namespace trainyard::cli {

// Starts to count SIGINT, SIGTERM and SIGHUP. A closed pipe or a full file becomes an error to
// report instead of ending the process.
void catch_signals();
int interrupts();  // returns the number of interrupts so far

// Makes the end of the parent process count as an interrupt. Returns false if the parent has
// already ended, that is, if the parent of this process is not `process`.
bool end_with(std::int64_t process);

}  // namespace trainyard::cli
