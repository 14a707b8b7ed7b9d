// SPDX-License-Identifier: GPL-3.0-or-later
// State of each rank in the coordinator, and problems that compare ranks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/session/coordinator/coordinator.h"

namespace trainyard::session {

// Grace period for messages that are still in transit, counted from the first call. It needs a
// minimum time and a minimum number of calls: on a busy machine, this process may not have read
// messages that arrived long ago.
class GracePeriod {
 public:
  bool over(std::int64_t now_ns) {
    if (since_ns_ == 0) since_ns_ = now_ns;
    return ++looks_ > kLooks && now_ns - since_ns_ > kNanoseconds;
  }

 private:
  static constexpr int kLooks = 20;
  static constexpr std::int64_t kNanoseconds = 300'000'000;
  std::int64_t since_ns_ = 0;
  int looks_ = 0;
};

struct RankEntry {
  RankIdentity identity;
  std::string name;  // Such as "rank 2 (cpu2 on alpha)".
  std::unique_ptr<RankHandle> handle;
  PeerId peer;                                // Empty before the rank's Hello message.
  std::string software, endpoint, plan_hash;  // Empty until the rank reports them.
  std::int64_t process = 0;
  std::uint64_t dropped_events = 0;
  // Slowdown of the rank: the last one requested, or else the drawn one.
  double slow_down = 1, jitter = 0;
  bool slow_requested = false;
  bool planned = false, reported_end = false;
  bool lost = false, stalled = false;
  // State of a failed rank. `wanted`: a replacement is requested. `returning`: the replacement has
  // started and is getting ready.
  bool wanted = false, returning = false;
  std::uint32_t generation = 1;  // Number of processes that this rank has had.
  // Number of confirmations by servers that a process of this rank has left the run.
  int departures_seen = 0;
  int leave_confirmations_due = 0;  // Number of confirmations needed before a replacement may join.
  // CPU time of a process that has sent no heartbeat yet, and when it last increased; 0: unknown.
  double cpu_seconds = 0;
  std::int64_t cpu_used_ns = 0;
  // Grace period that begins when the exit of the rank is noticed.
  GracePeriod end;
  std::optional<Finished> finished;
};
using RankEntries = std::vector<RankEntry>;

std::uint64_t random_number();
std::string new_token();  // Returns a random token that cannot be guessed.

// Display names by rank.
std::vector<std::string> rank_names(const experiment::Resolved& experiment);

// `any_differs`: true if some rank reported something other than `expected` in field `value`.
// `all_reported`: true if every rank has reported the field.
bool any_differs(const RankEntries& entries, std::string RankEntry::*value,
                 const std::string& expected);
bool all_reported(const RankEntries& entries, std::string RankEntry::*value);

// Returns a Problem with a table of the values of all ranks. `of`: name of what differs, "plan" or
// "software".
base::Problem disagreement(const RankEntries& entries, const std::string& of,
                           std::string RankEntry::*value, const std::string& expected);

// Compares final weights when every rank has finished. Returns a Problem if replicas that trained
// on the same samples are not bit-identical. Skips ranks without parameters.
std::optional<base::Problem> different_weights(const RankEntries& entries,
                                               const std::vector<int>& alike);

base::Problem not_started(const RankEntries& entries, double seconds);

}  // namespace trainyard::session
