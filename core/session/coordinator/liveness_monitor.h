// SPDX-License-Identifier: GPL-3.0-or-later
// Liveness check: decides from heartbeats if a run is still alive, and if not, which rank is the
// cause: one whose process ended, one that is unresponsive, or one at the end of the chain of
// waiting ranks. Pure: times are arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/session/protocol/messages.h"

namespace trainyard::session {

struct LivenessLimits {
  double unresponsive_seconds = 3;     // Without a heartbeat: the rank is lost.
  double hang_seconds = 20;            // Heartbeats, but no op completed anywhere: the run hangs.
  double watcher_pause_seconds = 0.5;  // Longer pauses of the watcher itself are not counted.
  // Replaces hang_seconds, if longer, while a rank has not completed its first op: ranks may still
  // be connecting to each other.
  double begin_seconds = 0;
};

class LivenessMonitor {
 public:
  LivenessMonitor(std::vector<std::string> rank_names,
                  LivenessLimits limits);  // Display names: "rank 2 (cpu2 on alpha)".

  // Starts the hang check: all ranks train from now on. Before that, only silence of ranks is
  // checked, from their first heartbeat on.
  void start(std::int64_t now_ns);
  void heard(const Progress& progress, std::int64_t now_ns);
  void done(int rank);  // The rank finished or failed: no more heartbeats are expected.
  void again(int rank, std::int64_t now_ns);  // A new process takes the rank's place.
  // Returns a Problem if the run is dead. Ranks at `horizon` have nothing to do and cannot hang.
  std::optional<base::Problem> judge(std::int64_t horizon, std::int64_t now_ns);
  bool is_unresponsive(int rank, std::int64_t now_ns) const;
  // Returns the problem of a rank whose process has ended early: `how` as from `Process::ended`.
  base::Problem died(int rank, const std::string& how) const;

  const Progress& last(int rank) const { return ranks_[static_cast<std::size_t>(rank)].last; }

 private:
  static constexpr std::int64_t kNever = -1;
  struct RankLiveness {
    Progress last;
    std::int64_t heard_ns = kNever;
    bool done = false;
  };
  void exclude_own_pause(std::int64_t now_ns);
  std::optional<base::Problem> unresponsive_problem(std::int64_t now_ns) const;
  base::Problem hung() const;
  double patience() const;
  int find_hung_rank() const;
  std::string place(int rank) const;

  std::vector<std::string> names_;
  LivenessLimits limits_;
  std::vector<RankLiveness> ranks_;
  std::int64_t looked_ns_ = kNever, moved_ns_ = kNever;
  bool started_ = false;
};

}  // namespace trainyard::session
