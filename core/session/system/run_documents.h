// SPDX-License-Identifier: GPL-3.0-or-later
// Documents of a run that are read again after the run: the resolved experiment and the result.
#pragma once

#include <filesystem>

#include "core/experiment/resolve.h"

namespace trainyard::session {

inline constexpr const char* kResolvedFile = "resolved.json";  // Resolved experiment, as run.
inline constexpr const char* kResultFile = "result.json";      // Result line of the run.
inline constexpr const char* kCheckpointsDirectory = "checkpoints";

// Reads the resolved experiment of a run. If its file is missing, uses the copy in the recording.
// Returns a Problem if both are missing, or if the file is invalid.
base::Result<experiment::Resolved> read_resolved(const std::filesystem::path& run_directory);

}  // namespace trainyard::session
