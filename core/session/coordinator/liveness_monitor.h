// SPDX-License-Identifier: GPL-3.0-or-later
// Liveness check: decides from heartbeats if a run is still alive, and if not, which rank is the
// cause. The cause is a rank whose process ended, a rank that is unresponsive, or the rank at the
// end of a chain of ranks, each of which waits for the next. Takes times as arguments, never from a
// clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/session/protocol/messages.h"

namespace trainyard::session {

struct LivenessLimits {
  double unresponsive_seconds = 3;  // After this long without a heartbeat, the rank is lost.
  // The run hangs if heartbeats arrive, but no rank completes an op for this long.
  double hang_seconds = 20;
  // If this process itself is suspended longer than this, the time is not counted as silence of the
  // ranks.
  double watcher_pause_seconds = 0.5;
  // Longer time limit in place of hang_seconds while a rank has not completed its first op, because
  // ranks may still be connecting to each other.
  double begin_seconds = 0;
  // Longer time limit for ranks of a machine of which nothing at all arrives: the network may lose
  // packets. Until then, these ranks are suspected.
  double silent_host_seconds = 10;
};

class LivenessMonitor {
 public:
  // The first argument contains the display names of the ranks, such as "rank 2 (cpu2 on alpha)".
  LivenessMonitor(std::vector<std::string> rank_names, LivenessLimits limits);

  // Starts the hang check: all ranks train from now on. Until then, a rank is only checked for
  // missing heartbeats, from its first heartbeat on.
  void start(std::int64_t now_ns);
  void heard(const Progress& progress, std::int64_t now_ns);
  void done(int rank);  // The rank finished or failed: no more heartbeats are expected.
  // Starts to watch a new process that takes the rank's place.
  void again(int rank, std::int64_t now_ns);
  // Returns a Problem if a rank is unresponsive or the run hangs. Ranks that wait at `horizon` have
  // no work and cannot hang.
  std::optional<base::Problem> judge(std::int64_t horizon, std::int64_t now_ns);
  bool is_unresponsive(int rank, std::int64_t now_ns);
  // States for how long nothing arrived from the rank's machine. When the machine is heard again,
  // the limit of its ranks starts again, because their heartbeats may follow a moment later.
  void set_host_silence(int rank, double seconds, std::int64_t now_ns);
  // True if a rank of a silent machine sent no heartbeat for `unresponsive_seconds`.
  bool is_suspected(int rank, std::int64_t now_ns) const;
  // Returns the problem of a rank whose process ended early. `how`: text from `Process::ended`.
  base::Problem died(int rank, const std::string& how) const;

  // Returns where the rank was at its last heartbeat: "at step 5 in op RED.b0.t1.c2<r1".
  std::string place(int rank) const;
  // True if the rank has not sent a heartbeat since the start, or since `again`.
  bool has_no_heartbeat(int rank) const {
    return ranks_[static_cast<std::size_t>(rank)].last.rank < 0;
  }
  // Returns the problem of a rank that hangs before its first heartbeat.
  base::Problem not_begun(int rank, double seconds) const;

  const Progress& last(int rank) const { return ranks_[static_cast<std::size_t>(rank)].last; }

 private:
  static constexpr std::int64_t kNever = -1;
  struct RankLiveness {
    Progress last;
    std::int64_t heard_ns = kNever;
    bool done = false;
    bool host_is_silent = false;
  };
  double limit_of(const RankLiveness& rank) const {
    return rank.host_is_silent ? limits_.silent_host_seconds : limits_.unresponsive_seconds;
  }
  void exclude_own_pause(std::int64_t now_ns);
  std::optional<base::Problem> unresponsive_problem(std::int64_t now_ns);
  base::Problem hung() const;
  double patience() const;
  int find_hung_rank() const;

  std::vector<std::string> names_;
  LivenessLimits limits_;
  std::vector<RankLiveness> ranks_;
  std::int64_t looked_ns_ = kNever, moved_ns_ = kNever;
  bool started_ = false;
};

}  // namespace trainyard::session
