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

// Whole pages of the host, zero: where the moments of an optimizer begin. The pages are here then,
// too, before the first step wants them. A Problem of `where` where there is not so much.
base::Result<Memory> allocate(std::int64_t bytes, const std::string& where);

}  // namespace trainyard::compute
