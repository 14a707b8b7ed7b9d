// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/memory_map.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cerrno>

#include "core/base/units.h"

namespace trainyard::comm {

MemoryMap::~MemoryMap() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

base::Result<MemoryMap> MemoryMap::map(int fd, std::size_t bytes, int flags) {
  if (bytes == 0) return MemoryMap{};
  void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);
  if (start == MAP_FAILED)
    return base::fail(base::system_problem(
        "memory", fmt::format("cannot map {}", base::format_bytes(static_cast<double>(bytes))),
        errno));
  return MemoryMap({static_cast<std::byte*>(start), bytes});
}

base::Result<MemoryMap> MemoryMap::anonymous(std::size_t bytes) {
  return map(-1, bytes, MAP_PRIVATE | MAP_ANONYMOUS);
}

base::Result<MemoryMap> MemoryMap::of_file(int fd, std::size_t bytes) {
  return map(fd, bytes, MAP_SHARED);
}

}  // namespace trainyard::comm
