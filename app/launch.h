// SPDX-License-Identifier: GPL-3.0-or-later
// Starts the ranks of a run on this machine: a process each, or, for the transport inproc, a thread
// each.
#pragma once

#include "core/session/coordinator.h"

namespace trainyard::app {

base::Result<session::Launched> launch(const session::LaunchRequest& request);

}  // namespace trainyard::app
