// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/devices.h"

#include "backends/cpu/cpu.h"

namespace trainyard::app {

base::Result<std::unique_ptr<compute::Compute>> make_compute(const topology::Device& device) { return cpu::make(static_cast<int>(device.cores)); }

}  // namespace trainyard::app
