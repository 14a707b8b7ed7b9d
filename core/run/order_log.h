// SPDX-License-Identifier: GPL-3.0-or-later
// What a server did, on its way from the server's thread to the one that ships it. Nothing is ever dropped: without all of it a run cannot be
// computed again.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "core/plan/served.h"

namespace trainyard::run {

class OrderLog {
 public:
  void write(const plan::Served& event) {
    const std::lock_guard lock(mutex_);
    plan::append(event, bytes_);
  }
  // All since the last call, as plan::served_of reads them.
  std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(bytes_, {});
  }

 private:
  std::mutex mutex_;
  std::string bytes_;
};

}  // namespace trainyard::run
