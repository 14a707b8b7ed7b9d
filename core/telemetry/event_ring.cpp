// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/event_ring.h"

#include <algorithm>
#include <bit>

namespace trainyard::telemetry {

EventRing::EventRing(std::size_t capacity)
    : events_(std::bit_ceil(std::max<std::size_t>(capacity, 1))), mask_(events_.size() - 1) {}

std::size_t EventRing::read(std::vector<Event>& out, std::size_t limit) {
  const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  const std::uint64_t head = head_.load(std::memory_order_acquire);
  const std::size_t count = std::min<std::uint64_t>(head - tail, limit);
  const std::size_t at = tail & mask_;
  const std::size_t before_wrap = std::min(count, events_.size() - at);
  const auto first = events_.begin();
  out.insert(out.end(), first + static_cast<std::ptrdiff_t>(at),
             first + static_cast<std::ptrdiff_t>(at + before_wrap));
  out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(count - before_wrap));
  tail_.store(tail + count, std::memory_order_release);
  return count;
}

}  // namespace trainyard::telemetry
