// SPDX-License-Identifier: GPL-3.0-or-later
// What the experiment says of optimizer and schedule, as the interpreter needs it.
#pragma once

#include "core/experiment/resolve.h"
#include "core/run/bound_plan.h"

namespace trainyard::session {

run::Recipe recipe(const experiment::Resolved& experiment);

}  // namespace trainyard::session
