// SPDX-License-Identifier: GPL-3.0-or-later
// Finds include cycles in the sources of a tree. A unit is a header with its source: the path
// without extension. A source without its own header is a unit by itself.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/architecture/directions.h"

namespace trainyard::architecture {

// Sets of units, or of folders, in which include cycles are tolerated. They may only shrink.
using KnownCycles = std::vector<Folders>;
const KnownCycles& known_unit_cycles();
const KnownCycles& known_folder_cycles();

// Reports a cycle among units that are not in one set of `known`, and every member of `known` that
// is no longer in a cycle.
Findings check_unit_cycles(const std::filesystem::path& root, const KnownCycles& known);
// The same for folders, subfolders included: core/run/bind and core/run/input are two folders.
Findings check_folder_cycles(const std::filesystem::path& root, const KnownCycles& known);

}  // namespace trainyard::architecture
