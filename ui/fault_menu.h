// SPDX-License-Identifier: GPL-3.0-or-later
// Faults to inject into a live run, in the menu of a rank's device, for observing their effect. The
// drawing does not change.
#pragma once

#include <functional>

#include "ui/model/text/fault_text.h"

class QMenu;

namespace trainyard::ui {

// Adds the menu. Faults that are possible now are enabled; tool tips describe their effect.
// `inject_fault` is called with the chosen fault.
void add_fault_menu(QMenu& menu, int rank, const RankFaults& offered,
                    const std::function<void(session::Command)>& inject_fault);

// Adds the menu of a link. `carry` is called with the chosen fraction of the drawn bandwidth.
void add_link_menu(QMenu& menu, const LinkFaults& offered,
                   const std::function<void(double part)>& carry);

}  // namespace trainyard::ui
