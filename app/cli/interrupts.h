// SPDX-License-Identifier: GPL-3.0-or-later
// Ctrl-C and what else asks a program to end.
#pragma once

#include <cstdint>

namespace trainyard::cli {

// From now on SIGINT, SIGTERM and SIGHUP are counted; a closed pipe or a full file is an error to
// report, not the end.
void catch_signals();
int interrupts();  // so far

// From now on the end of the process that started this one counts as an interrupt. False: it has
// ended already, for `process` is another.
bool end_with(std::int64_t process);

}  // namespace trainyard::cli
