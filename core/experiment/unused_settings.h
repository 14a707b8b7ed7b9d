// SPDX-License-Identifier: GPL-3.0-or-later
// Unused settings: values that have no effect because of other settings or the drawing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Returns messages about unused settings of partition and schedule: "strategy.stages.schedule=gpipe
// has no effect: ...". Default values are not reported. Empty if the strategy has no stages.
std::vector<std::string> unused_stage_settings(const Resolved& resolved);

// Returns a message if strategy.fsdp.group is set but has no effect, because there is only one
// group.
std::optional<std::string> unused_shard_group(const Resolved& resolved);

}  // namespace trainyard::experiment
