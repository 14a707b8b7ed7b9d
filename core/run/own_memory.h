// SPDX-License-Identifier: GPL-3.0-or-later
// The memory of a rank's own, as its layout wants it: what the host looks at between ops where that
// reaches it, all else on the device.
#pragma once

#include <span>
#include <string>

#include "core/run/bound_plan.h"

namespace trainyard::run {

class OwnMemory {
 public:
  static base::Result<OwnMemory> make(const Layout& layout, compute::Compute& compute,
                                      const std::string& where);
  OwnArena arena() const { return {{memory_.get(), bytes_}, at_hand_.get()}; }

 private:
  compute::Memory memory_, at_hand_;  // the latter null where the former has all
  std::size_t bytes_ = 0;
};

// Memory of the device as it was when it was allocated: zero.
base::Result<void> clear(compute::Compute& compute, std::span<std::byte> memory);

}  // namespace trainyard::run
