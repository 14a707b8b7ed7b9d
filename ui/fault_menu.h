// SPDX-License-Identifier: GPL-3.0-or-later
// Menus of faults that the user can inject into a live run to observe their effect: for the device
// of a rank, and for a link. The drawing does not change.
#pragma once

#include <functional>

#include "ui/model/text/fault_text.h"

class QMenu;

namespace trainyard::ui {

// Adds the menu of a rank. Faults that are possible now are enabled; tool tips describe their
// effects. `inject_fault` is called with the fault that the user chooses.
void add_fault_menu(QMenu& menu, int rank, const RankFaults& offered,
                    const std::function<void(session::Command)>& inject_fault);

// Adds the menu of faults of a link. `carry` is called with the fraction of the drawn bandwidth
// that the link gets: 0 cuts it, 1 restores it.
void add_link_menu(QMenu& menu, const LinkFaults& offered,
                   const std::function<void(double part)>& carry);

}  // namespace trainyard::ui
