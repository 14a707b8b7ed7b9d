// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/dry_run.h"

#include <memory>
#include <unordered_map>

#include "core/plan/frontier.h"

namespace trainyard::plan {
namespace {

using At = DryRun::At;

// Sends and receives from one member of a group to another that are queued for matching.
struct Channel {
  std::vector<At> sends, receives;
  std::size_t matched = 0;
};

// A receive, or a collective that is not expanded, that waits for some of its peers.
struct Waiting {
  At at;
  std::size_t missing = 0;
  std::vector<At> sources;
};

class Run {
 public:
  Run(const std::vector<RankPlan>& ranks, const std::vector<Group>& groups,
      std::vector<std::vector<int>> instances)
      : ranks_(ranks), groups_(groups) {
    result_.instances = std::move(instances);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      frontiers_.push_back(std::make_unique<Frontier>(ranks[r]));
      lay_out(r);
    }
    admitted_.assign(ranks.size(), 0);
    changed_.assign(ranks.size(), true);
  }

  DryRun run() {
    while (start_all()) {
      finish_all();
      ++result_.ticks;
    }
    result_.complete = left_ == 0;
    return std::move(result_);
  }

 private:
  void lay_out(std::size_t r) {
    const RankPlan& plan = ranks_[r];
    auto& lanes = result_.places.emplace_back(plan.lanes.size());
    auto& bases = result_.base.emplace_back();
    for (std::size_t i = 0; i < result_.instances[r].size(); ++i) {
      auto& base = bases.emplace_back();
      for (const auto& lane : lanes) base.push_back(static_cast<std::int64_t>(lane.size()));
      const Program& program = plan.programs[static_cast<std::size_t>(result_.instances[r][i])];
      for (std::size_t op = 0; op < program.ops.size(); ++op)
        lanes[program.ops[op].lane.index()].push_back(
            {static_cast<std::int32_t>(i), static_cast<std::int32_t>(op)});
      left_ += program.ops.size();
    }
  }

  bool start_all() {
    bool any = false;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (!changed_[r]) continue;
      changed_[r] = false;
      any = start_lanes(r) || any;
      while (admit(r)) any = start_lanes(r) || any;
    }
    return any;
  }

  bool admit(std::size_t r) {
    const auto& wanted = result_.instances[r];
    if (admitted_[r] == wanted.size() ||
        !frontiers_[r]->admit(wanted[admitted_[r]], static_cast<std::int64_t>(admitted_[r])))
      return false;
    ++admitted_[r];
    return true;
  }

  bool start_lanes(std::size_t r) {
    bool any = false;
    for (std::size_t l = 0; l < ranks_[r].lanes.size(); ++l)
      while (const auto ready = frontiers_[r]->next(LaneId(l))) {
        frontiers_[r]->start(LaneId(l));
        start({static_cast<std::int32_t>(r), static_cast<std::int32_t>(l), ready->sequence},
              ranks_[r]
                  .programs[static_cast<std::size_t>(ready->program)]
                  .ops[static_cast<std::size_t>(ready->op)]);
        any = true;
      }
    return any;
  }

  void start(const At& at, const Op& op) {
    result_.place(at).begin = result_.ticks;
    if (op.kind == OpKind::send) return start_send(at, op);
    if (coarse(op.kind)) return start_coarse(at, op);
    if (reads_peers(op.kind)) return start_receive(at, op);
    complete({at, 0, {}});
  }

  void start_send(const At& at, const Op& op) {
    result_.events.push_back({at, false, 0, 0});
    channel(op.group, at.rank, op.peer).sends.push_back(at);
    match(op.group, at.rank, op.peer);
  }

  void start_receive(const At& at, const Op& op) {
    const std::vector<std::int32_t> one{op.peer};
    const auto& members = op.kind == OpKind::reduce_many ? summands(op, groups_) : one;
    std::vector<std::int32_t> peers;
    for (const std::int32_t member : members)
      if (member != at.rank) peers.push_back(member);
    waiting_[key(at)] = {at, peers.size(), {}};
    for (const std::int32_t peer : peers) channel(op.group, peer, at.rank).receives.push_back(at);
    if (peers.empty()) return arrive(at, nullptr);
    for (const std::int32_t peer : peers) match(op.group, peer, at.rank);
  }

  void match(std::int32_t group, std::int32_t from, std::int32_t to) {
    Channel& c = channel(group, from, to);
    while (c.matched < c.sends.size() && c.matched < c.receives.size()) {
      const At send = c.sends[c.matched], receive = c.receives[c.matched];
      ++c.matched;
      arrive(receive, &send);
    }
  }

  // Adds the send `source`, if not null, to the sources of the waiting op at `at`. Completes the op
  // if no further send is missing.
  void arrive(const At& at, const At* source) {
    const auto waiting = waiting_.find(key(at));
    if (source != nullptr) {
      waiting->second.sources.push_back(*source);
      --waiting->second.missing;
    }
    if (waiting->second.missing > 0) return;
    complete(waiting->second);
    waiting_.erase(waiting);
  }

  void start_coarse(const At& at, const Op& op) {
    result_.events.push_back({at, false, 0, 0});
    auto& rounds = meetings_[op.group];
    const std::size_t number =
        met_[(static_cast<std::uint64_t>(op.group) << 32) | static_cast<std::uint32_t>(at.rank)]++;
    if (rounds.size() <= number) rounds.resize(number + 1);
    if (rounds[number].size() + 1 < groups_[static_cast<std::size_t>(op.group)].ranks.size())
      return rounds[number].push_back(at);
    complete({at, 0, std::move(rounds[number])});
  }

  void complete(Waiting done) {
    result_.events.push_back({done.at, true, static_cast<std::uint32_t>(result_.sources.size()),
                              static_cast<std::uint32_t>(done.sources.size())});
    result_.sources.insert(result_.sources.end(), done.sources.begin(), done.sources.end());
    finishing_.push_back(done.at);
    finishing_.insert(finishing_.end(), done.sources.begin(), done.sources.end());
  }

  void finish_all() {
    for (const At& at : finishing_) {
      result_.place(at).end = result_.ticks;
      Frontier::Ready ready;
      ready.sequence = at.sequence;
      frontiers_[static_cast<std::size_t>(at.rank)]->finish(LaneId(at.lane), ready);
      changed_[static_cast<std::size_t>(at.rank)] = true;
    }
    left_ -= finishing_.size();
    finishing_.clear();
  }

  static std::uint64_t key(const At& at) {
    return (static_cast<std::uint64_t>(at.rank) << 48) |
           (static_cast<std::uint64_t>(at.lane) << 32) | static_cast<std::uint64_t>(at.sequence);
  }
  Channel& channel(std::int32_t group, std::int32_t from, std::int32_t to) {
    return channels_[(static_cast<std::uint64_t>(group) << 48) |
                     (static_cast<std::uint64_t>(from) << 24) | static_cast<std::uint64_t>(to)];
  }

  const std::vector<RankPlan>& ranks_;
  const std::vector<Group>& groups_;
  std::vector<std::unique_ptr<Frontier>> frontiers_;
  std::vector<std::size_t> admitted_;
  std::vector<char> changed_;  // by rank: true if an op completed since its lanes were last polled
  std::unordered_map<std::uint64_t, Channel> channels_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;
  // by group, then by index of the collective: members that have started the collective
  std::unordered_map<std::int32_t, std::vector<std::vector<At>>> meetings_;
  // number of collectives that a rank has started so far; the key is {group, rank}
  std::unordered_map<std::uint64_t, std::size_t> met_;
  std::vector<At> finishing_;
  std::size_t left_ = 0;
  DryRun result_;
};

}  // namespace

DryRun dry_run(const std::vector<RankPlan>& ranks, const std::vector<Group>& groups,
               std::vector<std::vector<int>> instances) {
  return Run(ranks, groups, std::move(instances)).run();
}

}  // namespace trainyard::plan
