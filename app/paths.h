// SPDX-License-Identifier: GPL-3.0-or-later
// Where the files lie that come with the program.
#pragma once

#include <filesystem>

namespace trainyard::app {

std::filesystem::path program_directory();  // of the running program; empty where /proc cannot say

// The directory of the example experiments: below $TRAINYARD_RESOURCES when that is set, else in
// the installed share, else in the source tree that holds the build. Empty when there is none.
std::filesystem::path examples_directory();

}  // namespace trainyard::app
