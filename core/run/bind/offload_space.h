// SPDX-License-Identifier: GPL-3.0-or-later
// Memory for a rank's offloaded buffers (plan::Place): host memory and a file. The file is unlinked
// right after its creation, so that it never outlives the rank. Its disk space is allocated at
// once, so that a full disk is detected before the run starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/compute/memory.h"
#include "core/run/bind/layout.h"

namespace trainyard::run {

struct UnmapMemory {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const;
};

class OffloadSpace {
 public:
  // Allocates zeroed memory as the layout requires. Returns a Problem at `where`, with the
  // directory and the system's reason, if there is not enough space or the file cannot be created.
  static base::Result<OffloadSpace> make(const Layout& layout, const std::string& directory,
                                         const std::string& where);
  OffloadSpace() = default;  // an object without memory

  // These functions return the address of an offset of the layout. The file is mapped into memory,
  // so that offloaded data can be read between steps.
  std::byte* host(std::int64_t offset) const { return host_.get() + offset; }
  std::byte* disk(std::int64_t offset) const { return mapped_.get() + offset; }

  // These functions write or read the file. A Problem names the directory of the file and the
  // system's reason.
  base::Result<void> write(std::int64_t offset, std::span<const std::byte> bytes) const;
  base::Result<void> read(std::int64_t offset, std::span<std::byte> bytes) const;

 private:
  base::Result<void> make_file(std::int64_t bytes, const std::string& where);

  std::string directory_;
  compute::Memory host_;
  base::Descriptor file_{-1};
  std::unique_ptr<std::byte, UnmapMemory> mapped_;
};

}  // namespace trainyard::run
