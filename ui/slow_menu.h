// SPDX-License-Identifier: GPL-3.0-or-later
// Slowing a rank of a live run down, from the menu of its device. The drawing stays as it is: undo
// never touches a run.
#pragma once

#include <functional>

#include "core/session/messages.h"

class QMenu;

namespace trainyard::ui {

// `now`: how it is slowed down already, which is ticked. `slow` is called with what is chosen.
void add_slow_menu(QMenu& menu, const session::Slow& now,
                   const std::function<void(const session::Slow&)>& slow);

}  // namespace trainyard::ui
