// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace trainyard::compute {

// Memory that is freed with its last owner.
using Memory = std::shared_ptr<std::byte>;

// Allocates full pages of host memory. They are zero-initialized, as optimizer moments require, and
// populated before the first step uses them. Returns a Problem at `where` if there is not enough
// memory.
base::Result<Memory> allocate(std::int64_t bytes, const std::string& where);

}  // namespace trainyard::compute
