// SPDX-License-Identifier: GPL-3.0-or-later
// Verbs of trainyard-agent that join a listener.
#pragma once

#include <string>

#include "app/command_line.h"

namespace trainyard::app {

void add_join_verbs(const Verb& program);

std::string host_name();  // name of this machine
// Prints the problem. Returns the exit code.
int fail_with(const base::Problem& problem, int exit_code);
// Refuses to run as root, unless told to. Returns the exit code; 0 if the user is accepted.
int refuse_root(bool as_root);

}  // namespace trainyard::app
