// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace trainyard::ui {

// True if the process lives. False if it is a zombie (state "Z"), or if `process` is <= 0.
bool process_alive(std::int64_t process);

}  // namespace trainyard::ui
