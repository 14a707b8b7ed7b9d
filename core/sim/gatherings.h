// SPDX-License-Identifier: GPL-3.0-or-later
// Collectives that an engine takes whole, on the virtual clock: it begins when the last member has
// come to it, and is over for all of them at once, as long after that as the formula says
// (collective/engine_cost.h). An estimate: it shares its links with nothing, and what crosses them
// is not counted, for no engine reports it.
#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/sim/rank_model.h"

namespace trainyard::sim {

class Gatherings {
 public:
  explicit Gatherings(const topology::Network& network)
      : network_(network), ranks_(network.ranks()) {}

  struct Gathering {
    const OpModel* op = nullptr;  // of the first to come
    std::int64_t step = 0;
    std::size_t here = 0;
    bool over = false;
  };

  // A rank comes to its next collective of a group; its number. A Problem when it is another than
  // its peers came to.
  base::Result<int> join(int rank, const OpModel& op, std::int64_t step);
  bool complete(int number) const {
    return at(number).here == at(number).op->members.size();
  }  // nobody is missing
  void end(int number) { gatherings_[static_cast<std::size_t>(number)].over = true; }
  const Gathering& at(int number) const { return gatherings_[static_cast<std::size_t>(number)]; }
  std::vector<int> take_complete() { return std::exchange(complete_, {}); }  // since the last call

  // How long one takes from then on. A Problem when two members have no route.
  base::Result<Picoseconds> duration(const OpModel& op);
  Picoseconds known_duration(const OpModel& op) const;  // of one that was asked for before; else 0

 private:
  using Key = std::tuple<int, plan::OpKind, std::int64_t>;  // group, kind, bytes
  static Key key(const OpModel& op) { return {op.channel, op.kind, op.bytes}; }

  const topology::Network& network_;
  std::vector<topology::DeviceId> ranks_;
  std::vector<Gathering> gatherings_;
  std::vector<int> complete_;
  std::map<int, std::vector<int>> of_group_;                 // in their order
  std::map<std::pair<int, int>, std::size_t> next_of_rank_;  // by group and rank
  std::map<Key, Picoseconds> durations_;
};

}  // namespace trainyard::sim
