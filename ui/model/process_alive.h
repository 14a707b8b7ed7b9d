// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace trainyard::ui {

// A dead process that nobody has collected yet ("Z") is dead; so is none (0 and below).
bool process_alive(std::int64_t process);

}  // namespace trainyard::ui
