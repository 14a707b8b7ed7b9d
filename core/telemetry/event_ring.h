// SPDX-License-Identifier: GPL-3.0-or-later
// Lock-free ring of events from the training loop to the sending thread, for one writer and one
// reader. Writing never waits: if the ring is full, the event is dropped and counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/telemetry/event.h"

namespace trainyard::telemetry {

class EventRing {
 public:
  explicit EventRing(std::size_t capacity = 1 << 15);  // Rounded up to a power of two.

  void write(const Event& event) {
    const std::uint64_t at = head_.load(std::memory_order_relaxed);
    if (at - cached_tail_ > mask_) {
      cached_tail_ = tail_.load(std::memory_order_acquire);
      if (at - cached_tail_ > mask_) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return;
      }
    }
    events_[at & mask_] = event;
    head_.store(at + 1, std::memory_order_release);
  }

  // Appends the available events, at most `limit`, to `out`. Call it only from the reading thread.
  std::size_t read(std::vector<Event>& out, std::size_t limit = 1 << 14);
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  std::vector<Event> events_;
  std::uint64_t mask_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  std::uint64_t cached_tail_ = 0;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace trainyard::telemetry
