// SPDX-License-Identifier: GPL-3.0-or-later
// What may befall a rank of a live run, from the menu of its device: who learns from it sees what
// comes of it. The drawing stays as it is.
#pragma once

#include <functional>

#include "ui/model/fault_words.h"

class QMenu;

namespace trainyard::ui {

// What can be done now is enabled; tool tips say what comes of it. `befall` is called with what is
// chosen.
void add_fault_menu(QMenu& menu, int rank, const RankFaults& offered,
                    const std::function<void(session::Command)>& befall);

// Of a link likewise; `carry` is called with the part of its drawn bandwidth that it is to carry.
void add_link_menu(QMenu& menu, const LinkFaults& offered,
                   const std::function<void(double part)>& carry);

}  // namespace trainyard::ui
