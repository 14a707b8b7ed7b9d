// SPDX-License-Identifier: GPL-3.0-or-later
// Offer to run an experiment without other machines.
#pragma once

#include "core/base/result.h"
#include "ui/model/document/document.h"

namespace trainyard::ui {

// True if the problem is that a machine is not available, or that a setting does not work on other
// machines.
bool is_machine_problem(const base::Problem& problem);
// Clears the addresses of all hosts, as one undo step, so that all ranks run on this machine.
void clear_addresses(Document& document);

}  // namespace trainyard::ui
