// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace trainyard::compute {

// What a device says of itself, whoever uses it.
struct DeviceUse {
  double busy = 0;                // part of the last moments in which anything ran there, 0 to 1
  std::int64_t memory_bytes = 0;  // that are taken
  double watts = 0;
  double received_bytes_per_second = 0, sent_bytes_per_second = 0;  // over the bus of its host

  bool operator==(const DeviceUse&) const = default;
};

}  // namespace trainyard::compute
