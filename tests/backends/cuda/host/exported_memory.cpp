// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/backends/cuda/host/exported_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace trainyard::cuda {
namespace {

using base::Result;
using compute::Memory;

// Returns the protection key of this process, or a negative number if there is none. Threads have
// no rights until they request them.
int key() {
  static const int made = ::pkey_alloc(0, PKEY_DISABLE_ACCESS);
  return made;
}

base::Problem cannot(const char* what) {
  return base::system_problem("exported memory", what, errno);
}

// The pages of an open file, which stays open as long as they do; or, of none, pages of their own.
Result<Memory> map(int fd, std::size_t bytes) {
  const int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const at =
      ::mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE, flags, fd, 0);
  if (at == MAP_FAILED) return ::close(fd), base::fail(cannot("cannot map it"));
  if (key() >= 0)
    ::pkey_mprotect(at, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE, key());
  return Memory(static_cast<std::byte*>(at), [fd, bytes](std::byte* gone) {
    ::munmap(gone, std::max<std::size_t>(bytes, 1));
    if (fd >= 0) ::close(fd);
  });
}

}  // namespace

Result<Memory> make_own(std::int64_t bytes) { return map(-1, static_cast<std::size_t>(bytes)); }

Result<compute::ExportedMemory> export_host_memory(std::int64_t bytes) {
  const int fd = ::memfd_create("exported", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, bytes) != 0) return base::fail(cannot("cannot make it"));
  return map(fd, static_cast<std::size_t>(bytes)).map([&](Memory memory) {
    return compute::ExportedMemory{
        std::move(memory), "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd)};
  });
}

Result<std::pair<Memory, std::int64_t>> import_host_memory(const std::string& name) {
  const int fd = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
  struct stat found {};
  if (fd < 0 || ::fstat(fd, &found) != 0)
    return base::fail(cannot(("cannot open " + name).c_str()));
  return map(fd, static_cast<std::size_t>(found.st_size)).map([&](Memory memory) {
    return std::pair(std::move(memory), std::int64_t{found.st_size});
  });
}

AsDevice::AsDevice() {
  if (!keeps_others_out()) return;
  before_ = ::pkey_get(key());
  ::pkey_set(key(), 0);
}
AsDevice::~AsDevice() {
  if (keeps_others_out()) ::pkey_set(key(), static_cast<unsigned>(before_));
}

bool keeps_others_out() { return key() >= 0; }

}  // namespace trainyard::cuda
