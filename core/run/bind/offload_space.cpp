// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/offload_space.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/base/units.h"

namespace trainyard::run {
namespace {

constexpr const char* kAdvice =
    "Set training.swap.directory to a writable directory with free space, or offload to host "
    "memory.";

base::Problem problem(const std::string& where, const std::string& what, int error) {
  base::Problem text = base::system_problem(where, what, error);
  text.advice = kAdvice;
  return text;
}

// Repeats a system call such as read(2) or write(2) until all bytes are transferred. `move(bytes
// done)` makes the call and returns the number of bytes that it transferred.
template <class Move>
int move_all(std::size_t bytes, Move move) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t more = move(done);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return errno;
    if (more == 0) return EIO;
    done += static_cast<std::size_t>(more);
  }
  return 0;
}

}  // namespace

void UnmapMemory::operator()(std::byte* memory) const { ::munmap(memory, bytes); }

base::Result<OffloadSpace> OffloadSpace::make(const Layout& layout, const std::string& directory,
                                              const std::string& where) {
  OffloadSpace space;
  space.directory_ = directory;
  if (layout.host_bytes > 0) {
    auto host = compute::allocate(layout.host_bytes, where);
    if (!host) return base::fail(host.error());
    space.host_ = std::move(*host);
  }
  if (layout.disk_bytes > 0)
    if (auto ok = space.make_file(layout.disk_bytes, where); !ok) return base::fail(ok.error());
  return space;
}

base::Result<void> OffloadSpace::make_file(std::int64_t bytes, const std::string& where) {
  std::string name = directory_ + "/swap-XXXXXX";
  file_ = base::Descriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (file_.get() < 0)
    return base::fail(problem(
        where, fmt::format("cannot create a file in {} for offloading", directory_), errno));
  ::unlink(name.c_str());
  const int error = ::posix_fallocate(file_.get(), 0, bytes);
  if (error != 0)
    return base::fail(
        problem(where,
                fmt::format("cannot reserve {} in a file in {}",
                            base::format_bytes(static_cast<double>(bytes)), directory_),
                error));
  void* mapped = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                        MAP_SHARED, file_.get(), 0);
  if (mapped == MAP_FAILED)
    return base::fail(problem(where, fmt::format("cannot map a file in {}", directory_), errno));
  mapped_ = std::unique_ptr<std::byte, UnmapMemory>(static_cast<std::byte*>(mapped),
                                                    UnmapMemory{static_cast<std::size_t>(bytes)});
  return {};
}

base::Result<void> OffloadSpace::write(std::int64_t offset,
                                       std::span<const std::byte> bytes) const {
  const int error = move_all(bytes.size(), [&](std::size_t done) {
    return ::pwrite(file_.get(), bytes.data() + done, bytes.size() - done,
                    offset + static_cast<off_t>(done));
  });
  if (error == 0) return {};
  return base::fail(
      problem("",
              fmt::format("cannot write {} to the file in {}",
                          base::format_bytes(static_cast<double>(bytes.size())), directory_),
              error));
}

base::Result<void> OffloadSpace::read(std::int64_t offset, std::span<std::byte> bytes) const {
  const int error = move_all(bytes.size(), [&](std::size_t done) {
    return ::pread(file_.get(), bytes.data() + done, bytes.size() - done,
                   offset + static_cast<off_t>(done));
  });
  if (error == 0) return {};
  return base::fail(
      problem("",
              fmt::format("cannot read {} from the file in {}",
                          base::format_bytes(static_cast<double>(bytes.size())), directory_),
              error));
}

}  // namespace trainyard::run
