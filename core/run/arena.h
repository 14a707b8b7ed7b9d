// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "core/base/result.h"

namespace trainyard::run {

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, FreeMemory>;

// Whole pages, zero: where the moments of an optimizer begin. The pages are here then, too, before the first step wants them. A Problem of `where`
// where there is not so much.
base::Result<Memory> allocate(std::int64_t bytes, const std::string& where);

}  // namespace trainyard::run
