// SPDX-License-Identifier: GPL-3.0-or-later
// How long a test waits for what must come.
#pragma once

namespace trainyard::ui::test {

inline constexpr int kPatience =
    60'000;  // milliseconds; for busy machines, never for what goes well

}  // namespace trainyard::ui::test
