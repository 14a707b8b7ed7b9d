// SPDX-License-Identifier: GPL-3.0-or-later
// What is asked for and changes nothing, because of what else is asked for or drawn.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Of who has which layers and in which order micro-batches pass them, for a person:
// "strategy.stages.schedule=gpipe changes nothing: ..."; the usual value need not have been asked
// for, and is not said. None where nothing is cut into stages.
std::vector<std::string> stages_in_vain(const Resolved& resolved);

// Of who keeps which shard; nothing where that was not asked for, or there is more than one group.
std::optional<std::string> shards_in_vain(const Resolved& resolved);

}  // namespace trainyard::experiment
