// SPDX-License-Identifier: GPL-3.0-or-later
// Memory as if it were a device's: only while a thread is the device may it look there; and
// processes lend it to each other. Where the processor has protection keys (pkeys(7)) anybody else
// who does is ended by a fault; where it has none, nobody notices.
#pragma once

#include "core/compute/compute.h"

namespace trainyard::cuda {

base::Result<compute::Memory> make_own(std::int64_t bytes);
base::Result<compute::Lendable> make_lent(std::int64_t bytes);
// And how long it is.
base::Result<std::pair<compute::Memory, std::int64_t>> open_lent(const std::string& name);

// While it lives, this thread is the device.
class AsDevice {
 public:
  AsDevice();
  ~AsDevice();
  AsDevice(const AsDevice&) = delete;
  AsDevice& operator=(const AsDevice&) = delete;

 private:
  int before_ = 0;
};

// Whether others are kept out.
bool keeps_others_out();

}  // namespace trainyard::cuda
