// SPDX-License-Identifier: GPL-3.0-or-later
// Timeout of conditions that must become true.
#pragma once

namespace trainyard::ui::test {

inline constexpr int kPatience = 60'000;  // milliseconds; long enough for busy machines

}  // namespace trainyard::ui::test
