// SPDX-License-Identifier: GPL-3.0-or-later
// Proves freedom from deadlock. The rehearsal buffers no sends, and a plan has no choices. So if
// the rehearsal terminates, every run terminates. Otherwise this check reports the chain of waits
// up to the op where it closes a cycle, or up to an op that no peer matches.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/check/proofs.h"

namespace trainyard::check {
namespace {

using At = plan::DryRun::At;
using plan::LaneKind;
using plan::Op;
using plan::OpKind;

class Chain {
 public:
  explicit Chain(const Scope& scope) : scope_(scope), run_(scope.run) {}

  // Follows the chain of waits from the first lane that cannot proceed. Returns an op on the cycle,
  // or the op whose peer never arrives.
  At follow() {
    At at = first_stuck();
    std::vector<At> seen;
    while (std::none_of(seen.begin(), seen.end(),
                        [&](const At& s) { return s.rank == at.rank && s.lane == at.lane; })) {
      seen.push_back(at);
      text_ += fmt::format("{} waits for {}", text_.empty() ? "" : ", which", reason(at));
      if (!next_) return at;
      at = *next_;
    }
    text_ += ", which closes a cycle of waits";
    return at;
  }
  std::string text() const { return text_; }
  At start() const { return first_stuck(); }

 private:
  // Returns the first incomplete op of a lane. The sequence number of the result is the length of
  // the lane if all its ops are complete.
  At head(std::int32_t rank, std::int32_t lane) const {
    const auto& places =
        run_.places[static_cast<std::size_t>(rank)][static_cast<std::size_t>(lane)];
    const auto at =
        std::find_if(places.begin(), places.end(), [](const auto& place) { return place.end < 0; });
    return {rank, lane, at - places.begin()};
  }
  bool exists(const At& at) const {
    return at.sequence <
           static_cast<std::int64_t>(
               run_.places[static_cast<std::size_t>(at.rank)][static_cast<std::size_t>(at.lane)]
                   .size());
  }

  // Returns an op that can never start or complete. Prefers an op that waits for a peer, because it
  // explains a deadlock better than an op that waits for another lane.
  At first_stuck() const {
    At found;
    for (std::size_t r = 0; r < run_.places.size(); ++r)
      for (std::size_t l = 0; l < run_.places[r].size(); ++l) {
        const At at = head(static_cast<std::int32_t>(r), static_cast<std::int32_t>(l));
        if (!exists(at)) continue;
        if (run_.place(at).begin >= 0) return at;
        if (found.rank < 0) found = at;
      }
    return found;
  }

  std::string named(const At& at) const {
    return fmt::format("rank {} {}", at.rank, plan::token(scope_.op(at)));
  }
  std::string go(const At& at, const std::string& text) {
    next_ = at;
    return fmt::format("{} ({})", text, named(at));
  }
  std::string stop(const std::string& text) {
    next_.reset();
    return text;
  }

  std::string reason(const At& at) {
    if (run_.place(at).begin >= 0) return peer_reason(at);
    const Op& op = scope_.op(at);
    for (const plan::Dependency& dependency : op.after)
      if (const auto blocking = blocker(at, dependency))
        return go(*blocking,
                  fmt::format("lane {}", scope_.rank(at.rank).lanes[dependency.lane.index()].name));
    for (std::size_t l = 0; l < run_.places[static_cast<std::size_t>(at.rank)].size(); ++l)
      if (const At other = head(at.rank, static_cast<std::int32_t>(l));
          exists(other) && run_.place(other).instance < run_.place(at).instance)
        return go(other, "the end of an earlier step");
    return stop("an op that never starts");
  }

  std::optional<At> blocker(const At& at, const plan::Dependency& dependency) const {
    const std::int64_t target = run_.place(at).instance - dependency.steps_back;
    if (target < 0) return std::nullopt;
    const auto lane = dependency.lane.index();
    const auto& bases = run_.base[static_cast<std::size_t>(at.rank)];
    const auto all =
        static_cast<std::int64_t>(run_.places[static_cast<std::size_t>(at.rank)][lane].size());
    const std::int64_t base = bases[static_cast<std::size_t>(target)][lane];
    const std::int64_t next = static_cast<std::size_t>(target) + 1 < bases.size()
                                  ? bases[static_cast<std::size_t>(target) + 1][lane]
                                  : all;
    const std::int64_t wanted = dependency.sequence == plan::Dependency::end
                                    ? next
                                    : std::min(next, base + dependency.sequence);
    const At first = head(at.rank, dependency.lane.value);
    return first.sequence < wanted ? std::optional(first) : std::nullopt;
  }

  std::string peer_reason(const At& at) {
    const Op& op = scope_.op(at);
    const LaneKind wanted = plan::coarse(op.kind)     ? LaneKind::comm
                            : op.kind == OpKind::send ? LaneKind::recv
                                                      : LaneKind::send;
    const char* verb = plan::coarse(op.kind)     ? "join"
                       : op.kind == OpKind::send ? "receive"
                                                 : "send";
    const std::int32_t peer = op.peer >= 0 && !plan::coarse(op.kind) ? op.peer : absent(at, wanted);
    const At there = lane_head(peer, op.group, wanted);
    if (there.lane < 0 || !exists(there))
      return stop(fmt::format("rank {} to {}, but that rank never does so", peer, verb));
    return go(there, fmt::format("rank {} to {}", peer, verb));
  }

  At lane_head(std::int32_t rank, std::int32_t group, LaneKind kind) const {
    const auto& lanes = scope_.rank(rank).lanes;
    for (std::size_t l = 0; l < lanes.size(); ++l)
      if (lanes[l].kind == kind && lanes[l].group == group)
        return head(rank, static_cast<std::int32_t>(l));
    return {};
  }

  // Returns a member of the collective that has not started its matching op.
  std::int32_t absent(const At& at, LaneKind kind) const {
    const Op& op = scope_.op(at);
    for (const std::int32_t member : op.kind == OpKind::reduce_many
                                         ? plan::summands(op, scope_.groups)
                                         : scope_.groups[static_cast<std::size_t>(op.group)].ranks)
      if (member != at.rank && !under_way(member, at, kind)) return member;
    return at.rank;
  }
  bool under_way(std::int32_t member, const At& at, LaneKind kind) const {
    for (At there = lane_head(member, scope_.op(at).group, kind);
         there.lane >= 0 && exists(there) && run_.place(there).begin >= 0; ++there.sequence) {
      const Op& op = scope_.op(there);
      if (run_.place(there).end < 0 && (plan::coarse(op.kind) || op.peer == at.rank)) return true;
    }
    return false;
  }

  const Scope& scope_;
  const plan::DryRun& run_;
  std::string text_;
  std::optional<At> next_;
};

}  // namespace

void prove_no_deadlock(const Scope& scope, Findings& findings) {
  if (scope.run.complete) return;
  Chain chain(scope);
  const At start = chain.start(), bad = chain.follow();
  findings.add(
      Proof::deadlock, bad,
      fmt::format("the plan deadlocks: rank {} {}{}", start.rank, plan::token(scope.op(start)),
                  chain.text()),
      "",
      "A send completes together with its matching receive. Let both ranks reach their matching "
      "sends and receives in the same order.");
}

}  // namespace trainyard::check
