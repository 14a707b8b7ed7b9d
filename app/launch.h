// SPDX-License-Identifier: GPL-3.0-or-later
// Starts the ranks of a run: one process each, or one thread each with the transport inproc. Agents
// start those of other machines.
#pragma once

#include "core/session/coordinator/coordinator.h"

namespace trainyard::app {

base::Result<session::Launched> launch(const session::LaunchRequest& request);

}  // namespace trainyard::app
