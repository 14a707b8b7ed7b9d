// SPDX-License-Identifier: GPL-3.0-or-later
// The engines that take collectives whole, by name.
#pragma once

#include "core/session/rank.h"

namespace trainyard::app {

// A rank's end of the engine that its experiment asks for, at the address of its host. A Problem
// where it is not in this build.
base::Result<std::unique_ptr<comm::BoundCollectives>> make_engine(
    const session::EngineRequest& request);

// What libraries of that engine are to find in the environment of a rank's process when it starts,
// as NAME=VALUE, unless somebody said it otherwise.
std::vector<std::string> engine_settings(const experiment::Resolved& experiment, int rank);

}  // namespace trainyard::app
