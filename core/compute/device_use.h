// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>

namespace trainyard::compute {

struct Rates {
  double received_bytes_per_second = 0, sent_bytes_per_second = 0;
  bool operator==(const Rates&) const = default;
};

// What a device says of itself, whoever uses it.
struct DeviceUse {
  double busy = 0;                // part of the last moments in which anything ran there, 0 to 1
  std::int64_t memory_bytes = 0;  // that are taken
  double watts = 0;
  Rates bus;                   // of its host
  std::optional<Rates> links;  // to other devices, all together; nothing of one that has none

  bool operator==(const DeviceUse&) const = default;
};

}  // namespace trainyard::compute
