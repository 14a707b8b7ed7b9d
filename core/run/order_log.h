// SPDX-License-Identifier: GPL-3.0-or-later
// What a rank did that goes by what arrives, on its way from the rank's thread to the one that
// ships it. Nothing is ever dropped: without all of it a run cannot be computed again.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "core/plan/answers.h"
#include "core/plan/plan.h"
#include "core/plan/served.h"

namespace trainyard::run {

// Whether who comes to a rank when decides what others compute: a server, and one that answers. All
// others' numbers follow from theirs.
inline bool keeps_order(const plan::RankPlan& rank) {
  return rank.rule.has_value() || rank.answers();
}

class OrderLog {
 public:
  void write(const plan::Served& event) { add(event); }
  void write(const plan::Answer& event) { add(event); }
  // All since the last call, as plan::served_of or plan::answers_of reads them.
  std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(bytes_, {});
  }

 private:
  template <class Event>
  void add(const Event& event) {
    const std::lock_guard lock(mutex_);
    plan::append(event, bytes_);
  }

  std::mutex mutex_;
  std::string bytes_;
};

}  // namespace trainyard::run
