// SPDX-License-Identifier: GPL-3.0-or-later
// The heartbeat of a rank: a thread with a connection of its own says a few times a second where the rank is and what it
// waits for, from the assignment to the last word, however busy the other threads are.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "core/plan/plan.h"
#include "core/run/interpreter.h"
#include "core/session/control.h"

namespace trainyard::session {

class Heart {
 public:
  // `hello` proves that this connection, too, is the rank's.
  Heart(std::unique_ptr<ControlClient> client, Hello hello);
  ~Heart();
  Heart(const Heart&) = delete;
  Heart& operator=(const Heart&) = delete;

  // From now on ops can be named. The plan outlives the heart.
  void follow(const plan::RankPlan& plan) { plan_.store(&plan); }

  run::Whereabouts& whereabouts() { return whereabouts_; }
  Progress progress() const;

 private:
  void beat();

  std::unique_ptr<ControlClient> client_;
  Hello hello_;
  run::Whereabouts whereabouts_;
  std::atomic<const plan::RankPlan*> plan_{nullptr};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace trainyard::session
