// SPDX-License-Identifier: GPL-3.0-or-later
// Private memory of a rank by its layout: host-accessible memory for buffers that the host reads
// between ops, device memory for the rest.
#pragma once

#include <span>
#include <string>

#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

class PrivateMemory {
 public:
  static base::Result<PrivateMemory> make(const Layout& layout, compute::Compute& compute,
                                          const std::string& where);
  PrivateArena arena() const { return {{memory_.get(), bytes_}, result_memory_.get()}; }

 private:
  // `result_memory_`: memory of the buffers that the host reads between ops; null if `memory_`
  // holds all buffers
  compute::Memory memory_, result_memory_;
  std::size_t bytes_ = 0;
};

// Sets device memory to zero, as it was after its allocation.
base::Result<void> clear(compute::Compute& compute, std::span<std::byte> memory);

}  // namespace trainyard::run
