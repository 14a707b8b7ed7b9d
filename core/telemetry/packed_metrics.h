// SPDX-License-Identifier: GPL-3.0-or-later
// Compressed form of metric events: the payload of frames of type `metrics`. It returns exactly the
// events that were packed, in their order, in about a seventh of their size. Columns whose values
// are equal on several ranks, such as norms of reduced gradients, are stored once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/telemetry/event.h"

namespace trainyard::telemetry {

struct RankEvent {
  std::int32_t rank = 0;
  Event event;
};

// Requires metric events: their begin, ready and end are equal, and `imposed_seconds` is 0.
std::vector<std::byte> pack_metrics(std::span<const RankEvent> events);
// Returns a Problem if the payload is damaged.
base::Result<std::vector<RankEvent>> unpack_metrics(std::span<const std::byte> payload);

}  // namespace trainyard::telemetry
