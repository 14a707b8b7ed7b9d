// SPDX-License-Identifier: GPL-3.0-or-later
// Determines the order of server events on a virtual clock, by simulating the drawn experiment.
// Ranks that train with the virtual clock execute their ops in this order.
#pragma once

#include "core/session/rank/virtual_ranks.h"

namespace trainyard::app {

base::Result<std::unique_ptr<plan::ServerEventSource>> make_virtual_clock(
    const experiment::Resolved& experiment, const plan::Plan& plan,
    session::VirtualServices::OnEvent on_event);

}  // namespace trainyard::app
