// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <limits>

namespace trainyard::ui {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace trainyard::ui
