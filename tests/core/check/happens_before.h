// SPDX-License-Identifier: GPL-3.0-or-later
// Order of the ops of a coarse plan at any speed, from a graph instead of the checker's clocks.
// Every op of three steps of the program "train" has a start and an end; an edge leads from an
// event to one that waits for it. Two ops of a rank are in order if a path leads from the end of
// one to the start of the other.
#pragma once

#include <map>

#include "tests/core/check/breaking.h"

namespace trainyard::check {

inline bool overlap(const std::vector<plan::Access>& some,
                    const std::vector<plan::Access>& others) {
  const auto touch = [](const plan::Access& a, const plan::Access& b) {
    return a.buffer == b.buffer && a.count > 0 && b.count > 0 && a.first < b.first + b.count &&
           b.first < a.first + a.count;
  };
  return std::any_of(some.begin(), some.end(), [&](const plan::Access& a) {
    return std::any_of(others.begin(), others.end(),
                       [&](const plan::Access& b) { return touch(a, b); });
  });
}

// They touch one element, and one of them writes it.
inline bool conflict(const plan::Op& a, const plan::Op& b) {
  return overlap(a.writes, b.writes) || overlap(a.writes, b.reads) || overlap(a.reads, b.writes);
}

class HappensBefore {
 public:
  explicit HappensBefore(Victim victim) {
    for (std::size_t rank = 0; rank < victim.ranks.size(); ++rank) {
      ops_.push_back(victim.train(rank));
      first_.push_back(next_.size());
      next_.resize(next_.size() + 2 * kSteps * ops_.back().size());
    }
    for (std::size_t rank = 0; rank < ops_.size(); ++rank)
      add_waits(rank, victim.ranks[rank].lanes.size());
    add_meetings();
  }

  // True if two ops of the rank, of one step or of two, access one element without an order.
  bool races(std::size_t rank) const {
    const auto reached = reached_by_ends(rank);
    for (std::size_t a = 0; a < reached.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (conflict(op(rank, a), op(rank, b)) && !reached[a][start(rank, b)] &&
            !reached[b][start(rank, a)])
          return true;
    return false;
  }

  // Ops of one step that may be under way together.
  std::vector<std::pair<std::size_t, std::size_t>> unordered(std::size_t rank) const {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    const auto reached = reached_by_ends(rank);
    const std::size_t step =
        ops_[rank].size();  // the second one: it has one before it and one after
    for (std::size_t a = 0; a < step; ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (!reached[step + a][start(rank, step + b)] && !reached[step + b][start(rank, step + a)])
          pairs.push_back({a, b});
    return pairs;
  }

 private:
  static constexpr std::size_t kSteps = 3;
  using Nodes = std::vector<std::size_t>;

  // Ops of a rank are numbered through the steps. The end of an op is the node after its start.
  std::size_t start(std::size_t rank, std::size_t number) const {
    return first_[rank] + 2 * number;
  }
  const plan::Op& op(std::size_t rank, std::size_t number) const {
    return ops_[rank][number % ops_[rank].size()];
  }
  std::size_t count(std::size_t rank) const { return kSteps * ops_[rank].size(); }

  void add_waits(std::size_t rank, std::size_t lanes) {
    std::vector<Nodes> starts(lanes);  // by lane
    std::vector<std::vector<std::size_t>> base(
        1, Nodes(lanes, 0));  // by step: ops of each lane before it
    for (std::size_t number = 0; number < count(rank); ++number) {
      starts[op(rank, number).lane.index()].push_back(start(rank, number));
      if ((number + 1) % ops_[rank].size() != 0) continue;
      auto& now = base.emplace_back();
      for (const Nodes& lane : starts) now.push_back(lane.size());
    }
    for (const Nodes& lane : starts)
      for (std::size_t i = 1; i < lane.size(); ++i) next_[lane[i - 1] + 1].push_back(lane[i]);
    for (std::size_t number = 0; number < count(rank); ++number) {
      next_[start(rank, number)].push_back(start(rank, number) + 1);
      for (const plan::Dependency& dependency : op(rank, number).after)
        add_wait(rank, number, dependency, starts, base);
    }
  }

  void add_wait(std::size_t rank, std::size_t number, const plan::Dependency& dependency,
                const std::vector<Nodes>& starts, const std::vector<Nodes>& base) {
    const std::size_t step = number / ops_[rank].size(),
                      back = static_cast<std::size_t>(dependency.steps_back),
                      lane = dependency.lane.index();
    if (step < back) return;
    const std::size_t all = base[step - back + 1][lane];
    const bool to_end = dependency.sequence == plan::Dependency::end;
    const std::size_t complete =
        to_end ? all
               : std::min(all,
                          base[step - back][lane] + static_cast<std::size_t>(dependency.sequence));
    if (complete > 0) next_[starts[lane][complete - 1] + 1].push_back(start(rank, number));
  }

  // An all-reduce ends when every member has come to it.
  void add_meetings() {
    std::map<std::pair<std::int32_t, std::size_t>, Nodes> meetings;  // by group and number
    for (std::size_t rank = 0; rank < ops_.size(); ++rank) {
      std::map<std::int32_t, std::size_t> met;
      for (std::size_t number = 0; number < count(rank); ++number)
        if (op(rank, number).kind == plan::OpKind::all_reduce)
          meetings[{op(rank, number).group, met[op(rank, number).group]++}].push_back(
              start(rank, number));
    }
    for (const auto& [key, members] : meetings)
      for (const std::size_t one : members)
        for (const std::size_t other : members)
          if (one != other) next_[one].push_back(other + 1);
  }

  std::vector<bool> reached_from(std::size_t node) const {
    std::vector<bool> reached(next_.size(), false);
    for (Nodes open{node}; !open.empty();) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const std::size_t next : next_[at])
        if (!reached[next]) {
          reached[next] = true;
          open.push_back(next);
        }
    }
    return reached;
  }
  std::vector<std::vector<bool>> reached_by_ends(std::size_t rank) const {
    std::vector<std::vector<bool>> all;
    for (std::size_t number = 0; number < count(rank); ++number)
      all.push_back(reached_from(start(rank, number) + 1));
    return all;
  }

  std::vector<std::vector<plan::Op>> ops_;  // by rank
  Nodes first_;                             // by rank: its first node
  std::vector<Nodes> next_;                 // by node: what waits for it
};

}  // namespace trainyard::check
