// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace trainyard::base {

// Cores of this machine that this process may use; at least 1.
int usable_cores();

}  // namespace trainyard::base
