// SPDX-License-Identifier: GPL-3.0-or-later
// Limit on the file descriptors of this process (ulimit -n).
#pragma once

#include <cstdint>

namespace trainyard::base {

// Raises the soft limit to the hard limit, at most to 65,536.
void raise_descriptor_limit();

// Returns how many more descriptors this process may open.
std::int64_t free_descriptors();

}  // namespace trainyard::base
