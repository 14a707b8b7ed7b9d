// SPDX-License-Identifier: GPL-3.0-or-later
// The order that a virtual clock makes of an experiment's drawing, for whoever trains in it.
#pragma once

#include "core/session/virtual_ranks.h"

namespace trainyard::app {

base::Result<std::unique_ptr<plan::ServedOrder>> make_virtual_clock(
    const experiment::Resolved& experiment, const plan::Plan& plan,
    session::VirtualServices::OnEvent on_event);

}  // namespace trainyard::app
