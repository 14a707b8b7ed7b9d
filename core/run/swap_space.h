// SPDX-License-Identifier: GPL-3.0-or-later
// Where a rank has what it puts aside (plan::Place): memory of the host, and a file. The file has
// no name any more once it is made, so that nothing is left of it however the rank ends; and all
// its room is taken at once, so that a full disk is found before anything is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/compute/memory.h"
#include "core/run/layout.h"

namespace trainyard::run {

struct UnmapMemory {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const;
};

class SwapSpace {
 public:
  // As much as the layout says, zero. A Problem of `where`, which names the directory and what the
  // system says, where there is not so much room, or no file can be made.
  static base::Result<SwapSpace> make(const Layout& layout, const std::string& directory,
                                      const std::string& where);
  SwapSpace() = default;  // nothing

  // From an offset on, as the layout says. What is in the file is mapped: for what looks at it
  // between steps.
  std::byte* host(std::int64_t offset) const { return host_.get() + offset; }
  std::byte* disk(std::int64_t offset) const { return mapped_.get() + offset; }

  // A Problem names the file's directory and what the system says.
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
