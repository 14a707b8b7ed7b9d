// SPDX-License-Identifier: GPL-3.0-or-later
// From the thread that trains to the one that ships: values of chunks, all of them. Few steps have
// any, so a lock does.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "core/telemetry/chunk_values.h"

namespace trainyard::telemetry {

class ValuesBox {
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
