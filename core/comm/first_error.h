// SPDX-License-Identifier: GPL-3.0-or-later
// First fatal error. Any thread may set it; later errors are ignored.
#pragma once

#include <mutex>
#include <optional>

#include "core/base/result.h"

namespace trainyard::comm {

class FirstError {
 public:
  // Sets the error. Returns false if one was set before; the first one is kept.
  bool give(const base::Problem& reason) {
    const std::lock_guard lock(mutex_);
    if (reason_) return false;
    reason_ = reason;
    return true;
  }
  std::optional<base::Problem> get() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }
  base::Result<void> state() const {
    const auto reason = get();
    return reason ? base::Result<void>(base::fail(*reason)) : base::Result<void>();
  }

 private:
  mutable std::mutex mutex_;
  std::optional<base::Problem> reason_;
};

}  // namespace trainyard::comm
