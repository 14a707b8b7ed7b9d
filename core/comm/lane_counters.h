// SPDX-License-Identifier: GPL-3.0-or-later
// Traffic counters of one lane in one direction. One thread increments them; any thread may read
// them.
#pragma once

#include <atomic>
#include <cstdint>

namespace trainyard::comm {

class Counter {
 public:
  // A plain addition is enough, because there is only one writer.
  void add(std::uint64_t n) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct LaneCounters {
  Counter payload_bytes, header_bytes, messages;

  void add_message(std::uint64_t payload, std::uint64_t header) {
    payload_bytes.add(payload);
    header_bytes.add(header);
    messages.add(1);
  }
};

}  // namespace trainyard::comm
