// SPDX-License-Identifier: GPL-3.0-or-later
// Bipartitions of graphs, and odd cycles of graphs that are not bipartite.
#include "core/experiment/bipartition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "tests/core/experiment/problems.h"
#include "tests/core/experiment/samples.h"
#include "tests/drawings.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using testing::AllOf;
using testing::ElementsAre;
using testing::IsEmpty;

Experiment in_pairs(int ranks, GossipGraph graph) {
  Experiment e = small(1, ranks);
  e.strategy.kind = StrategyKind::gossip;
  e.strategy.gossip.mode = GossipMode::asynchronous;
  e.strategy.gossip.graph = graph;
  return e;
}

Bipartition bipartition(int ranks, GossipGraph graph) {
  return bipartition_of(graph_of(in_pairs(ranks, graph)));
}

TEST(Bipartition, assigns_ranks_of_an_even_ring_alternately) {
  for (const int ranks : {2, 4, 6, 10}) {
    const Bipartition found = bipartition(ranks, GossipGraph::ring);
    EXPECT_THAT(found.odd_cycle, IsEmpty());
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(found.asks[static_cast<std::size_t>(rank)], rank % 2 == 0);
  }
}

TEST(Bipartition, is_a_checkerboard_for_an_even_torus) {
  const Bipartition found = bipartition(16, GossipGraph::torus);
  ASSERT_THAT(found.odd_cycle, IsEmpty());
  for (int rank = 0; rank < 16; ++rank)
    EXPECT_EQ(found.asks[static_cast<std::size_t>(rank)], (rank / 4 + rank % 4) % 2 == 0);
}

// The hub of a star is passive. Rank 0 may be passive.
TEST(Bipartition, larger_side_is_active) {
  const Bipartition found = bipartition_of({{1, 2, 3}, {0}, {0}, {0}});
  EXPECT_THAT(found.odd_cycle, IsEmpty());
  EXPECT_THAT(found.asks, ElementsAre(false, true, true, true));
}

// Checks that the ranks are consecutive neighbors, that the last is a neighbor of the first, and
// that their number is odd.
void expect_odd_cycle(const Graph& graph, const std::vector<int>& cycle) {
  ASSERT_EQ(cycle.size() % 2, 1u);
  EXPECT_EQ(std::set<int>(cycle.begin(), cycle.end()).size(), cycle.size())
      << "a rank occurs twice";
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const auto& neighbors = graph[static_cast<std::size_t>(cycle[i])];
    EXPECT_TRUE(
        std::binary_search(neighbors.begin(), neighbors.end(), cycle[(i + 1) % cycle.size()]))
        << cycle[i];
  }
}

TEST(Bipartition, does_not_exist_if_a_cycle_is_odd) {
  for (const auto& [ranks, graph] : {std::pair{3, GossipGraph::ring},
                                     {7, GossipGraph::ring},
                                     {3, GossipGraph::complete},
                                     {6, GossipGraph::complete},
                                     {6, GossipGraph::torus},
                                     {9, GossipGraph::torus},
                                     {4, GossipGraph::exponential},
                                     {8, GossipGraph::exponential}}) {
    SCOPED_TRACE(std::to_string(ranks));
    expect_odd_cycle(graph_of(in_pairs(ranks, graph)), bipartition(ranks, graph).odd_cycle);
  }
  EXPECT_EQ(bipartition(7, GossipGraph::ring).odd_cycle.size(), 7u);
  EXPECT_EQ(bipartition(6, GossipGraph::complete).odd_cycle.size(), 3u);
}

// In any connected graph, either no edge is inside a side of the bipartition, or an odd cycle
// exists.
RC_GTEST_PROP(Bipartition, separates_all_neighbors_or_returns_an_odd_cycle, ()) {
  const int ranks = *rc::gen::inRange(2, 12);
  std::vector<std::set<int>> joined(static_cast<std::size_t>(ranks));
  const auto join = [&](int a, int b) {
    joined[static_cast<std::size_t>(a)].insert(b), joined[static_cast<std::size_t>(b)].insert(a);
  };
  for (int rank = 1; rank < ranks; ++rank) join(rank, *rc::gen::inRange(0, rank));
  for (int more = *rc::gen::inRange(0, 6); more > 0; --more)
    if (const int a = *rc::gen::inRange(0, ranks), b = *rc::gen::inRange(0, ranks); a != b)
      join(a, b);
  Graph graph;
  for (const auto& one : joined) graph.emplace_back(one.begin(), one.end());
  const Bipartition found = bipartition_of(graph);
  if (!found.odd_cycle.empty()) return expect_odd_cycle(graph, found.odd_cycle);
  for (int rank = 0; rank < ranks; ++rank)
    for (const int other : graph[static_cast<std::size_t>(rank)])
      RC_ASSERT(found.asks[static_cast<std::size_t>(rank)] !=
                found.asks[static_cast<std::size_t>(other)]);
  RC_ASSERT(2 * std::count(found.asks.begin(), found.asks.end(), true) >= ranks);
}

TEST(Bipartition, refuses_a_graph_that_is_not_bipartite) {
  EXPECT_THAT(gossip_problems(in_pairs(6, GossipGraph::ring)), IsEmpty());
  const auto problem = [](const std::string& cycle) {
    return AllOf(IsProblem("gossip_graph_not_bipartite", "strategy.gossip.graph"), Mentions(cycle));
  };
  EXPECT_THAT(gossip_problems(in_pairs(5, GossipGraph::ring)),
              ElementsAre(AllOf(problem("5 ranks"), Mentions("strategy.gossip.mode"))));
  EXPECT_THAT(gossip_problems(in_pairs(4, GossipGraph::complete)),
              ElementsAre(AllOf(problem("3 ranks"), Mentions("strategy.gossip.graph to ring"))));
  EXPECT_THAT(gossip_problems(in_pairs(13, GossipGraph::ring)),
              ElementsAre(AllOf(problem("13 ranks"), Mentions("5 others"))));
  Experiment synchronous = in_pairs(5, GossipGraph::ring);
  synchronous.strategy.gossip.mode = GossipMode::synchronous;
  EXPECT_THAT(gossip_problems(synchronous), IsEmpty());
}

TEST(Bipartition, reports_disconnected_ranks_first) {
  Experiment e = in_pairs(1, GossipGraph::drawn);
  e.topology.hosts.clear();
  for (const char* name : {"a", "b"}) e.topology.hosts.push_back(tests::drawn_host(name, 3));
  EXPECT_THAT(gossip_problems(e),
              ElementsAre(AllOf(IsProblem("gossip_graph_not_connected", "strategy.gossip.graph"),
                                Mentions("ranks 3, 4 and 5"))));
}

// Asynchronous gossip has no mixing matrix: the pairs that average are determined at run time.
TEST(Bipartition, asynchronous_gossip_has_no_second_eigenvalue) {
  Experiment e = in_pairs(4, GossipGraph::ring);
  EXPECT_FALSE(lambda_2(resolve(e, ".").value()));
  e.strategy.gossip.mode = GossipMode::synchronous;
  EXPECT_TRUE(lambda_2(resolve(e, ".").value()));
}

}  // namespace
}  // namespace trainyard::experiment
