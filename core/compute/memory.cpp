// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/memory.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/base/units.h"

namespace trainyard::compute {

base::Result<Memory> allocate(std::int64_t bytes, const std::string& where) {
  constexpr std::int64_t small = 4096, large = std::int64_t{2} << 20;
  const std::int64_t page = bytes >= 2 * large ? large : small;
  const auto rounded =
      static_cast<std::size_t>(std::max<std::int64_t>(page, (bytes + page - 1) / page * page));
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(page, rounded)), std::free);
  if (!memory)
    return base::fail(
        {"out_of_memory", base::ProblemCode::unavailable, where,
         fmt::format("cannot allocate {}", base::format_bytes(static_cast<double>(bytes))), "",
         "Use a smaller batch or model, or a machine with more memory."});
  if (page == large)
    ::madvise(memory.get(), rounded,
              // Avoids most page faults and TLB misses; harmless if huge pages are not available.
              MADV_HUGEPAGE);
  std::memset(memory.get(), 0, rounded);
  return memory;
}

}  // namespace trainyard::compute
