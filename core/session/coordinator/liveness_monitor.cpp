// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/coordinator/liveness_monitor.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/units.h"
#include "core/plan/text.h"

namespace trainyard::session {
namespace {

using base::Problem;
using base::ProblemCode;

// A machine that is connected sends something at least once a second: answers to time requests.
constexpr double kHostHeardSeconds = 1.5;

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

}  // namespace

LivenessMonitor::LivenessMonitor(std::vector<std::string> rank_names, LivenessLimits limits)
    : names_(std::move(rank_names)), limits_(limits), ranks_(names_.size()) {}

void LivenessMonitor::start(std::int64_t now_ns) {
  started_ = true;
  looked_ns_ = moved_ns_ = now_ns;
  for (RankLiveness& rank : ranks_) rank.heard_ns = now_ns;
}

void LivenessMonitor::heard(const Progress& progress, std::int64_t now_ns) {
  if (progress.rank < 0 || static_cast<std::size_t>(progress.rank) >= ranks_.size()) return;
  RankLiveness& rank = ranks_[static_cast<std::size_t>(progress.rank)];
  if (progress.ops_done > rank.last.ops_done || progress.step > rank.last.step) moved_ns_ = now_ns;
  rank.last = progress;
  rank.heard_ns = now_ns;
}

void LivenessMonitor::done(int rank) { ranks_[static_cast<std::size_t>(rank)].done = true; }

void LivenessMonitor::again(int rank, std::int64_t now_ns) {
  RankLiveness& seen = ranks_[static_cast<std::size_t>(rank)];
  seen = {};
  seen.last.rank = rank;
  seen.heard_ns = now_ns;
}

std::optional<Problem> LivenessMonitor::judge(std::int64_t horizon, std::int64_t now_ns) {
  exclude_own_pause(now_ns);
  if (auto problem = unresponsive_problem(now_ns)) return problem;
  if (!started_) return std::nullopt;
  const bool idle = std::all_of(ranks_.begin(), ranks_.end(), [&](const RankLiveness& rank) {
    return rank.done || rank.last.step >= horizon;
  });
  if (idle) moved_ns_ = now_ns;
  if (now_ns - moved_ns_ > nanoseconds(patience())) return hung();
  return std::nullopt;
}

// Extends deadlines by the time during which this process was suspended itself. Heartbeats that
// arrived in that time may not have been read yet.
void LivenessMonitor::exclude_own_pause(std::int64_t now_ns) {
  const std::int64_t gap = looked_ns_ == kNever ? 0 : now_ns - looked_ns_;
  looked_ns_ = now_ns;
  if (gap <= nanoseconds(limits_.watcher_pause_seconds)) return;
  moved_ns_ = std::min(moved_ns_ + gap, now_ns);
  for (RankLiveness& rank : ranks_)
    if (rank.heard_ns != kNever) rank.heard_ns = std::min(rank.heard_ns + gap, now_ns);
}

std::optional<Problem> LivenessMonitor::unresponsive_problem(std::int64_t now_ns) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (!is_unresponsive(static_cast<int>(r), now_ns)) continue;
    return Problem{
        "rank_unresponsive",
        ProblemCode::failed,
        names_[r],
        fmt::format("stopped responding; its last heartbeat was {}", place(static_cast<int>(r))),
        fmt::format("a heartbeat at least every {}", base::format_seconds(limit_of(ranks_[r]))),
        ranks_[r].host_is_silent
            ? "Its machine sent nothing either: check the machine and the network."
            : "Its process may be suspended, swapped out, or get no CPU time; see its log."};
  }
  return std::nullopt;
}

void LivenessMonitor::set_host_silence(int rank, double seconds, std::int64_t now_ns) {
  RankLiveness& seen = ranks_[static_cast<std::size_t>(rank)];
  const bool was_silent = std::exchange(seen.host_is_silent, seconds > kHostHeardSeconds);
  if (was_silent && !seen.host_is_silent && seen.heard_ns != kNever) seen.heard_ns = now_ns;
}

bool LivenessMonitor::is_suspected(int rank, std::int64_t now_ns) const {
  const RankLiveness& seen = ranks_[static_cast<std::size_t>(rank)];
  return seen.host_is_silent && !seen.done && seen.heard_ns != kNever &&
         now_ns - seen.heard_ns > nanoseconds(limits_.unresponsive_seconds);
}

bool LivenessMonitor::is_unresponsive(int rank, std::int64_t now_ns) {
  exclude_own_pause(now_ns);
  const RankLiveness& seen = ranks_[static_cast<std::size_t>(rank)];
  return !seen.done && seen.heard_ns != kNever &&
         now_ns - seen.heard_ns > nanoseconds(limit_of(seen));
}

// Returns the rank that causes a hang: the last one of a chain of ranks, each of which waits for
// the next. If the chain is a cycle, returns a rank of this cycle.
int LivenessMonitor::find_hung_rank() const {
  int at = 0;
  while (static_cast<std::size_t>(at) < ranks_.size() && ranks_[static_cast<std::size_t>(at)].done)
    ++at;
  for (std::size_t hops = 0; hops < ranks_.size(); ++hops) {
    const int next = ranks_[static_cast<std::size_t>(at)].last.waits_for;
    if (next < 0 || static_cast<std::size_t>(next) >= ranks_.size() ||
        ranks_[static_cast<std::size_t>(next)].done)
      break;
    at = next;
  }
  return at;
}

double LivenessMonitor::patience() const {
  const bool begins = std::ranges::any_of(
      ranks_, [](const RankLiveness& rank) { return !rank.done && rank.last.ops_done == 0; });
  return begins ? std::max(limits_.hang_seconds, limits_.begin_seconds) : limits_.hang_seconds;
}

Problem LivenessMonitor::hung() const {
  const int rank = find_hung_rank();
  return {
      "run_hung",
      ProblemCode::failed,
      names_[static_cast<std::size_t>(rank)],
      fmt::format("hangs: no progress for {}; it is {}", base::format_seconds(patience()),
                  place(rank)),
      "",
      "If an op can take that long, raise run.hang_seconds; otherwise see the log of the rank."};
}

Problem LivenessMonitor::not_begun(int rank, double seconds) const {
  return {"rank_unresponsive",
          ProblemCode::failed,
          names_[static_cast<std::size_t>(rank)],
          fmt::format("hangs {}: its process has used no CPU time for {}", place(rank),
                      base::format_seconds(seconds)),
          "a first heartbeat",
          "Its process may be suspended, or wait for a disk; see its log."};
}

Problem LivenessMonitor::died(int rank, const std::string& how) const {
  return {"rank_died",
          ProblemCode::failed,
          names_[static_cast<std::size_t>(rank)],
          fmt::format("ended by {}; its last heartbeat was {}", how, place(rank)),
          "",
          fmt::format("Read logs/rank-{}.log in the run directory, then run again.", rank)};
}

std::string LivenessMonitor::place(int rank) const {
  const Progress& last = ranks_[static_cast<std::size_t>(rank)].last;
  std::string text = fmt::format("at step {}", base::format_count(last.step));
  if (!last.op.empty()) text += fmt::format(" in op {}", last.op);
  else text += last.ops_done == 0 ? ", before its first op" : ", between two ops";
  if (last.op.starts_with(plan::word(plan::OpKind::load))) text += ", waiting for its samples";
  if (last.waits_for >= 0) text += fmt::format(", waiting for rank {}", last.waits_for);
  return text;
}

}  // namespace trainyard::session
