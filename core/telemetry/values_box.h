// SPDX-License-Identifier: GPL-3.0-or-later
// Queue of chunk values from the training thread to the sending thread. No values are dropped. A
// mutex is fast enough, because only few steps have values.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "core/telemetry/chunk_values.h"

namespace trainyard::telemetry {

class ChunkValueQueue {
 public:
  void put(ChunkValues values) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(values));
  }
  std::vector<ChunkValues> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(values_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<ChunkValues> values_;
};

}  // namespace trainyard::telemetry
