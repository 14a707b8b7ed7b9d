// SPDX-License-Identifier: GPL-3.0-or-later
// Memory that behaves like device memory: a thread may access it only while it acts as the device,
// and processes can export it to each other. If the CPU has protection keys (pkeys(7)), any other
// access ends the process by a fault; otherwise such an access is not detected.
#pragma once

#include "core/compute/compute.h"

namespace trainyard::cuda {

base::Result<compute::Memory> make_own(std::int64_t bytes);
base::Result<compute::ExportedMemory> export_host_memory(std::int64_t bytes);
// Returns the memory and its size.
base::Result<std::pair<compute::Memory, std::int64_t>> import_host_memory(const std::string& name);

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

// True if other accesses are prevented.
bool keeps_others_out();

}  // namespace trainyard::cuda
