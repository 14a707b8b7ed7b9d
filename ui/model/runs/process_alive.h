// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace trainyard::ui {

// True if the process exists and is not a zombie (state "Z"). False if `process` is not positive.
bool process_alive(std::int64_t process);

}  // namespace trainyard::ui
