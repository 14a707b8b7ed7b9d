// SPDX-License-Identifier: GPL-3.0-or-later
// Slows down a rank of a live run, from the menu of its device. The drawing does not change, and
// undo does not affect the run.
#pragma once

#include <functional>

#include "core/session/protocol/messages.h"

class QMenu;

namespace trainyard::ui {

// `now`: the current slowdown, which is ticked. `slow` is called with the chosen one.
void add_slow_menu(QMenu& menu, const session::Slow& now,
                   const std::function<void(const session::Slow&)>& slow);

}  // namespace trainyard::ui
