// SPDX-License-Identifier: GPL-3.0-or-later
// What may befall a rank of a live run, from the menu of its device: who learns from it sees what comes of it. The drawing stays as it is.
#pragma once

#include <functional>

#include "ui/model/fault_words.h"

class QMenu;

namespace trainyard::ui {

// What can be done now is enabled; tool tips say what comes of it. `befall` is called with what is chosen.
void add_fault_menu(QMenu& menu, int rank, const RankFaults& offered, const std::function<void(session::Command)>& befall);

}  // namespace trainyard::ui
