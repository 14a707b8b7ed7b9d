// SPDX-License-Identifier: GPL-3.0-or-later
// Judges from heartbeats whether a run still lives, and if not, who is to blame: a rank whose
// process ended, one that no longer answers, or one at which all waiting ends. Pure: times are
// given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/session/messages.h"

namespace trainyard::session {

struct WatchLimits {
  double silent_seconds = 3;     // without a heartbeat: lost
  double hang_seconds = 20;      // heartbeats, but no op done anywhere: hung
  double own_gap_seconds = 0.5;  // a pause of the watcher itself longer than this is forgiven
  double begin_seconds = 0;  // in the place of hang_seconds, where longer, while a rank has done no
                             // op yet: ranks may have to find each other
};

class Watch {
 public:
  Watch(std::vector<std::string> rank_names,
        WatchLimits limits);  // names as a person knows them: "rank 2 (cpu2 on alpha)"

  // All ranks train from now on. Before that, a rank is watched for silence from its first
  // heartbeat on.
  void start(std::int64_t now_ns);
  void heard(const Progress& progress, std::int64_t now_ns);
  void done(int rank);                        // it finished, or is lost: nothing more is expected
  void again(int rank, std::int64_t now_ns);  // another takes its place
  // The ranks that stand at `horizon` have nothing to do and cannot hang.
  std::optional<base::Problem> judge(std::int64_t horizon, std::int64_t now_ns);
  bool is_silent(int rank, std::int64_t now_ns) const;
  // What to say when rank's process has ended early: `how` as of Process::ended.
  base::Problem died(int rank, const std::string& how) const;

  const Progress& last(int rank) const { return ranks_[static_cast<std::size_t>(rank)].last; }

 private:
  static constexpr std::int64_t kNever = -1;
  struct Seen {
    Progress last;
    std::int64_t heard_ns = kNever;
    bool done = false;
  };
  void forgive_own_gap(std::int64_t now_ns);
  std::optional<base::Problem> silent(std::int64_t now_ns) const;
  base::Problem hung() const;
  double patience() const;
  int culprit() const;
  std::string place(int rank) const;

  std::vector<std::string> names_;
  WatchLimits limits_;
  std::vector<Seen> ranks_;
  std::int64_t looked_ns_ = kNever, moved_ns_ = kNever;
  bool started_ = false;
};

}  // namespace trainyard::session
