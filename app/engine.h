// SPDX-License-Identifier: GPL-3.0-or-later
// Engines that run complete collectives (NCCL, Gloo), by name.
#pragma once

#include "core/session/rank/rank.h"

namespace trainyard::app {

// Creates a rank's endpoint of the experiment's engine, at the address of the rank's host. Problem:
// this build does not include the engine.
base::Result<std::unique_ptr<comm::BoundCollectives>> make_engine(
    const session::EngineRequest& request);

// Returns environment variables for the engine's libraries in a rank's process, as NAME=VALUE.
// Variables that the user has set take precedence.
std::vector<std::string> engine_settings(const experiment::Resolved& experiment, int rank);

}  // namespace trainyard::app
