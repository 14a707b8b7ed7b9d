// SPDX-License-Identifier: GPL-3.0-or-later
// Log of the order in which a server took and answered messages of workers, or a passive rank
// answered offers. The rank's thread appends events; another thread sends them. No event is ever
// dropped, because a replay needs all of them.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "core/plan/answers.h"
#include "core/plan/plan.h"
#include "core/plan/server_events.h"

namespace trainyard::run {

// True if results depend on the order in which messages arrive at the rank: it is a server, or a
// passive rank of gossip. The results of all other ranks follow from the logs of these ranks.
inline bool keeps_order(const plan::RankPlan& rank) {
  return rank.rule.has_value() || rank.answers();
}

class OrderLog {
 public:
  void write(const plan::ServerEvent& event) { add(event); }
  void write(const plan::Answer& event) { add(event); }
  // Returns all events since the last call, in the format of plan::served_of or plan::answers_of.
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
