// SPDX-License-Identifier: GPL-3.0-or-later
// Summary of a recording for a list of runs: its header and its result. In a closed recording, the
// frames between header and result are not read.
#pragma once

#include <filesystem>

#include "core/base/json.h"

namespace trainyard::telemetry {

struct RecordingSummary {
  base::Json header;
  base::Json result;  // null if the run has not ended
};

base::Result<RecordingSummary> read_summary(const std::filesystem::path& run_directory);

}  // namespace trainyard::telemetry
