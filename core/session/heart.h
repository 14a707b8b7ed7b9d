// SPDX-License-Identifier: GPL-3.0-or-later
// The heartbeat of a rank, or of all that one thread has: a thread with a connection of its own
// says a few times a second where they are and what they wait for, from the assignment to the last
// word, however busy the other threads are.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/plan/plan.h"
#include "core/run/interpreter.h"
#include "core/session/control.h"

namespace trainyard::session {

class Heart {
 public:
  // `hellos` prove that this connection, too, is the ranks'; there is one at least.
  Heart(std::unique_ptr<ControlClient> client, std::vector<Hello> hellos);
  ~Heart();
  Heart(const Heart&) = delete;
  Heart& operator=(const Heart&) = delete;

  // From now on ops can be named. The plan outlives the heart.
  void follow(const plan::RankPlan& plan) { plan_.store(&plan); }

  run::Whereabouts& whereabouts() { return whereabouts_; }
  Progress progress() const { return progress_of(hellos_.front().rank); }

 private:
  void beat();
  Progress progress_of(std::int32_t rank) const;

  std::unique_ptr<ControlClient> client_;
  std::vector<Hello> hellos_;
  run::Whereabouts whereabouts_;
  std::atomic<const plan::RankPlan*> plan_{nullptr};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace trainyard::session
