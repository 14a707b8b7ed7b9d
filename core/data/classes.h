// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace trainyard::data {

// Maximum number of classes in a file; more indicate a wrong file or column.
inline constexpr std::int64_t kMaxClasses = 100;

}  // namespace trainyard::data
