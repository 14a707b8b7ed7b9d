// SPDX-License-Identifier: GPL-3.0-or-later
// Heartbeats of a rank, or of all ranks in one process. A thread with its own connection reports a
// few times a second which step and op the ranks are in, and what they wait for. The thread sends
// reports from the assignment to the end, however busy the other threads are.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/plan/plan.h"
#include "core/run/interpreter/interpreter.h"
#include "core/session/protocol/control.h"

namespace trainyard::session {

class HeartbeatSender {
 public:
  // `hellos`: first messages of the ranks, at least one. They are sent again on this connection, to
  // prove that the connection belongs to these ranks.
  HeartbeatSender(std::unique_ptr<ControlClient> client, std::vector<Hello> hellos);
  ~HeartbeatSender();
  HeartbeatSender(const HeartbeatSender&) = delete;
  HeartbeatSender& operator=(const HeartbeatSender&) = delete;

  // Makes heartbeats name the current op, from `plan`, which must outlive this object.
  void follow(const plan::RankPlan& plan) { plan_.store(&plan); }

  run::RankProgress& rank_progress() { return rank_progress_; }
  Progress progress() const { return progress_of(hellos_.front().rank); }

 private:
  void send_heartbeat();
  Progress progress_of(std::int32_t rank) const;

  std::unique_ptr<ControlClient> client_;
  std::vector<Hello> hellos_;
  run::RankProgress rank_progress_;
  std::atomic<const plan::RankPlan*> plan_{nullptr};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace trainyard::session
