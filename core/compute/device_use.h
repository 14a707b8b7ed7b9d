// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>

namespace trainyard::compute {

struct Rates {
  double received_bytes_per_second = 0, sent_bytes_per_second = 0;
  bool operator==(const Rates&) const = default;
};

// Usage that a device reports, in total over all processes.
struct DeviceUse {
  double busy = 0;  // Fraction of the last sampling period in which any kernel ran, 0 to 1.
  std::int64_t memory_bytes = 0;  // Memory in use.
  double watts = 0;
  Rates bus;                   // Traffic over the bus of the device's host.
  std::optional<Rates> links;  // Traffic over all links to other devices; unset if there are none.

  bool operator==(const DeviceUse&) const = default;
};

}  // namespace trainyard::compute
