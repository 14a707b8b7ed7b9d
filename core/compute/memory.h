// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace trainyard::compute {

// Freed with its last owner.
using Memory = std::shared_ptr<std::byte>;

// Allocates full pages of host memory, zeroed as required for optimizer moments. The pages are
// populated before the first step uses them. Returns a Problem at `where` if there is not enough
// memory.
base::Result<Memory> allocate(std::int64_t bytes, const std::string& where);

}  // namespace trainyard::compute
