// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace trainyard::ui {

// True if the process lives. False for zombies ("Z") and for process <= 0.
bool process_alive(std::int64_t process);

}  // namespace trainyard::ui
