// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/session/coordinator/coordinator.h"
#include "core/telemetry/history.h"

namespace trainyard::conformance {

// Returns the recording of a run.
telemetry::History recorded(const session::CoordinatorResult& outcome);

}  // namespace trainyard::conformance
