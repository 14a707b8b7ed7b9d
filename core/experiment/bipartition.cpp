// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/bipartition.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"

namespace trainyard::experiment {
namespace {

// Breadth-first search of the neighbor graph from rank 0. For each rank it records the side (0 or
// 1) and the rank from which the search reached it.
class Walk {
 public:
  explicit Walk(const Graph& graph) : side_(graph.size(), -1), from_(graph.size(), -1) {
    std::vector<int> reached;
    if (!graph.empty()) reached.push_back(0), side_[0] = 0;
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (const int next : graph[at_rank(reached[i])]) {
        if (side_[at_rank(next)] < 0) {
          side_[at_rank(next)] = 1 - side_[at_rank(reached[i])], from_[at_rank(next)] = reached[i];
          reached.push_back(next);
        } else if (circle_.empty() && side_[at_rank(next)] == side_[at_rank(reached[i])]) {
          circle_ = circle(reached[i], next);
        }
      }
  }

  const std::vector<int>& odd_cycle() const { return circle_; }
  int side(std::size_t rank) const { return side_[rank]; }

 private:
  // Returns an odd cycle that contains the edge between ranks a and b, which are on the same side:
  // the edge, and the search paths from a and from b to their common ancestor. Both paths have the
  // same length, so the cycle is odd.
  std::vector<int> circle(int a, int b) const {
    const std::vector<int> left = path_to_root(a), right = path_to_root(b);
    const auto meets = std::find_first_of(left.begin(), left.end(), right.begin(), right.end());
    std::vector<int> ranks(left.begin(), meets + 1);
    const auto end = std::find(right.begin(), right.end(), *meets);
    ranks.insert(ranks.end(), std::make_reverse_iterator(end), right.rend());
    return ranks;
  }
  std::vector<int> path_to_root(int rank) const {
    std::vector<int> way;
    for (; rank >= 0; rank = from_[at_rank(rank)]) way.push_back(rank);
    return way;
  }

  std::vector<int> side_, from_, circle_;
};

// Returns the ranks as text, such as "0, 1 and 2". A long list is shortened.
std::string describe(const std::vector<int>& ranks) {
  constexpr std::size_t kNamed = 9;
  std::string words;
  for (std::size_t i = 0; i + 1 < std::min(ranks.size(), kNamed); ++i)
    words += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() <= kNamed) return words + " and " + std::to_string(ranks.back());
  return words + " and " +
         base::format_count(static_cast<std::int64_t>(ranks.size() - kNamed + 1)) + " others";
}

std::string advice_for(const Experiment& experiment) {
  const char* const otherwise = ". Or set strategy.gossip.mode to synchronous.";
  switch (experiment.strategy.gossip.graph) {
    case GossipGraph::ring: return std::string("Add or remove one worker") + otherwise;
    case GossipGraph::torus:
      return std::string(
                 "Use a number of workers whose grid has even sides (4, 8, 16), or set "
                 "strategy.gossip.graph to ring") +
             otherwise;
    case GossipGraph::drawn:
      return std::string("Remove a link of the cycle, or draw one worker per host") + otherwise;
    default:
      return std::string("Set strategy.gossip.graph to ring, and draw an even number of workers") +
             otherwise;
  }
}

base::Problem not_bipartite_problem(const Experiment& experiment, const std::vector<int>& circle) {
  return {
      "gossip_graph_not_bipartite",
      base::ProblemCode::bad_input,
      "strategy.gossip.graph",
      fmt::format("asynchronous gossip needs a bipartite graph, but ranks {} form a cycle of "
                  "odd length ({} ranks)",
                  describe(circle), base::format_count(std::ssize(circle))),
      "a bipartite graph: each edge joins a rank that requests averages and a rank that answers",
      advice_for(experiment)};
}

}  // namespace

Bipartition bipartition_of(const Graph& graph) {
  const Walk walk(graph);
  Bipartition bipartition{std::vector<bool>(graph.size()), walk.odd_cycle()};
  std::size_t first = 0;
  for (std::size_t rank = 0; rank < graph.size(); ++rank) first += walk.side(rank) == 0 ? 1 : 0;
  const int asks = 2 * first >= graph.size() ? 0 : 1;
  for (std::size_t rank = 0; rank < graph.size(); ++rank)
    bipartition.asks[rank] = walk.side(rank) == asks;
  return bipartition;
}

bool is_asynchronous_gossip(const StrategySpec& strategy) {
  return strategy.kind == StrategyKind::gossip && strategy.gossip.mode == GossipMode::asynchronous;
}

base::Problems pair_problems(const Experiment& experiment, const Graph& graph) {
  const Bipartition bipartition = bipartition_of(graph);
  return bipartition.odd_cycle.empty()
             ? base::Problems{}
             : base::Problems{not_bipartite_problem(experiment, bipartition.odd_cycle)};
}

}  // namespace trainyard::experiment
