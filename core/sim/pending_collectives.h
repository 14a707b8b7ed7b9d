// SPDX-License-Identifier: GPL-3.0-or-later
// Collectives of an engine on the virtual clock. A collective begins when its last member has
// joined, and ends for all members at the same time. Its duration is computed by formula
// (collective/engine_cost.h). This is an estimate: the collective does not share links with other
// traffic. Its bytes are not counted, because engines do not report them.
#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/sim/rank_model.h"

namespace trainyard::sim {

class PendingCollectives {
 public:
  explicit PendingCollectives(const topology::Network& network)
      : network_(network), ranks_(network.ranks()) {}

  struct PendingCollective {
    const OpModel* op = nullptr;  // op of the first member that joined
    std::int64_t step = 0;
    std::size_t here = 0;
    bool over = false;
  };

  // Joins a rank to the next collective of a group. Returns the index of the pending collective.
  // Fails if the rank's op differs from the op with which its peers joined.
  base::Result<int> join(int rank, const OpModel& op, std::int64_t step);
  bool complete(int number) const {
    return at(number).here == at(number).op->members.size();
  }  // true if all members have joined
  void end(int number) { collectives_[static_cast<std::size_t>(number)].over = true; }
  const PendingCollective& at(int number) const {
    return collectives_[static_cast<std::size_t>(number)];
  }
  // Returns the collectives that became complete since the last call.
  std::vector<int> take_complete() { return std::exchange(complete_, {}); }

  // Returns how long a collective takes after its last member joined. Fails if two members have no
  // route.
  base::Result<Picoseconds> duration(const OpModel& op);
  // Returns the duration of the op's collective if it was computed before, otherwise 0.
  Picoseconds known_duration(const OpModel& op) const;

 private:
  using Key = std::tuple<int, plan::OpKind, std::int64_t>;  // group, kind, bytes
  static Key key(const OpModel& op) { return {op.channel, op.kind, op.bytes}; }

  const topology::Network& network_;
  std::vector<topology::DeviceId> ranks_;
  std::vector<PendingCollective> collectives_;
  std::vector<int> complete_;
  // Pending collectives of each group, in the order in which they begin.
  std::map<int, std::vector<int>> of_group_;
  std::map<std::pair<int, int>, std::size_t> next_of_rank_;  // by group and rank
  std::map<Key, Picoseconds> durations_;
};

}  // namespace trainyard::sim
