// SPDX-License-Identifier: GPL-3.0-or-later
// Locations of directories that the programs need.
#pragma once

#include <filesystem>

namespace trainyard::app {

// Returns the directory of the running program; empty if /proc is not available.
std::filesystem::path program_directory();

// Returns the directory of the example experiments: in $TRAINYARD_RESOURCES if that is set, else in
// the installed share directory, else in the source tree of the build. Empty if there is none.
std::filesystem::path examples_directory();
// Returns the directory of the manual's pages, which is searched in the same places as the
// examples.
std::filesystem::path manual_directory();

}  // namespace trainyard::app
