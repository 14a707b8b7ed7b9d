// SPDX-License-Identifier: GPL-3.0-or-later
// Menu of a device that slows down the device's rank in a live run. The drawing does not change,
// and undo does not affect the slowdown.
#pragma once

#include <functional>

#include "core/session/protocol/messages.h"

class QMenu;

namespace trainyard::ui {

// Adds the menu. `now`: the current slowdown, whose values are ticked. `slow` is called with the
// slowdown that the user chooses.
void add_slow_menu(QMenu& menu, const session::Slow& now,
                   const std::function<void(const session::Slow&)>& slow);

}  // namespace trainyard::ui
