// SPDX-License-Identifier: GPL-3.0-or-later
// Mixing matrices against known eigenvalues; invalid matrices are refused with a reason.
#include "core/experiment/mixing_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "tests/core/experiment/problems.h"
#include "tests/core/experiment/samples.h"
#include "tests/drawings.h"

namespace trainyard::experiment {
namespace {

using base::IsProblem;
using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pointwise;

Experiment gossiping(int ranks, GossipGraph graph) {
  Experiment e = small(1, ranks);
  e.strategy.kind = StrategyKind::gossip;
  e.strategy.gossip.graph = graph;
  return e;
}

// Sorted, the largest first.
std::vector<double> eigenvalues(const MixingMatrix& mixing) {
  std::vector<double> values = spectrum(mixing).values;
  std::sort(values.begin(), values.end(), std::greater<>());
  return values;
}

// Eigenvalues of a circulant matrix: the k-th is the sum of its weights times cos(2 pi k distance /
// n).
std::vector<double> circulant_eigenvalues(int ranks,
                                          const std::vector<std::pair<int, double>>& weights) {
  std::vector<double> values;
  for (int k = 0; k < ranks; ++k) {
    double sum = 0;
    for (const auto& [distance, weight] : weights)
      sum += weight * std::cos(2 * std::numbers::pi * k * distance / ranks);
    values.push_back(sum);
  }
  std::sort(values.begin(), values.end(), std::greater<>());
  return values;
}

double absolute_second(std::vector<double> values) {
  std::sort(values.begin(), values.end(),
            [](double a, double b) { return std::abs(a) > std::abs(b); });
  return std::abs(values[1]);
}

// W v = lambda v, |v| = 1, and v is orthogonal to the mean.
void expect_second_eigenvector(const MixingMatrix& mixing) {
  const SecondEigenvalue second = second_eigenvalue(mixing);
  double length = 0, sum = 0, along = 0;
  for (int i = 0; i < mixing.ranks; ++i) {
    const double value = second.vector[static_cast<std::size_t>(i)];
    double mixed = 0;
    for (int j = 0; j < mixing.ranks; ++j)
      mixed += mixing.weight(i, j) * second.vector[static_cast<std::size_t>(j)];
    length += value * value, sum += value, along += value * mixed;
    EXPECT_NEAR(std::abs(mixed), second.absolute * std::abs(value), 1e-12);
  }
  EXPECT_NEAR(length, 1, 1e-12);
  EXPECT_NEAR(sum, 0, 1e-12);
  EXPECT_NEAR(std::abs(along), second.absolute, 1e-12);
}

TEST(MixingMatrix, ring_has_the_eigenvalues_of_the_formula) {
  for (const int ranks : {3, 4, 5, 8, 16, 33}) {
    const MixingMatrix ring = mixing(gossiping(ranks, GossipGraph::ring));
    EXPECT_EQ(ring.denominator, 3);
    EXPECT_EQ(ring.at(0, 1), 1);
    EXPECT_EQ(ring.at(0, 0), 1);
    const auto expected = circulant_eigenvalues(ranks, {{0, 1.0 / 3}, {1, 1.0 / 3}, {-1, 1.0 / 3}});
    EXPECT_THAT(eigenvalues(ring), Pointwise(DoubleNear(1e-12), expected)) << ranks;
    EXPECT_NEAR(second_eigenvalue(ring).absolute,
                std::max(1.0 / 3 + 2.0 / 3 * std::cos(2 * std::numbers::pi / ranks),
                         absolute_second(expected)),
                1e-12);
    expect_second_eigenvector(ring);
  }
}

TEST(MixingMatrix, averages_two_ranks) {
  for (const GossipGraph graph : {GossipGraph::ring, GossipGraph::exponential, GossipGraph::torus,
                                  GossipGraph::complete, GossipGraph::drawn}) {
    const MixingMatrix two = mixing(gossiping(2, graph));
    EXPECT_EQ(two, (MixingMatrix{2, 2, {1, 1, 1, 1}}));
    EXPECT_NEAR(second_eigenvalue(two).absolute, 0, 1e-15);
  }
}

TEST(MixingMatrix, exponential_graph_has_the_eigenvalues_of_a_circulant) {
  for (const int ranks : {4, 7, 8, 16}) {
    std::set<int> distances;
    for (int hop = 1; hop < ranks; hop *= 2) distances.insert(hop), distances.insert(ranks - hop);
    std::vector<std::pair<int, double>> weights{
        {0, 1.0 / static_cast<double>(distances.size() + 1)}};
    for (const int distance : distances) weights.emplace_back(distance, weights.front().second);
    const MixingMatrix exponential = mixing(gossiping(ranks, GossipGraph::exponential));
    EXPECT_THAT(eigenvalues(exponential),
                Pointwise(DoubleNear(1e-12), circulant_eigenvalues(ranks, weights)))
        << ranks;
    expect_second_eigenvector(exponential);
  }
}

// 5 W = 1 + A x 1 + 1 x B of two cycles: every eigenvalue is a sum of one eigenvalue of each.
TEST(MixingMatrix, torus_has_the_eigenvalues_of_the_kronecker_sum) {
  for (const auto& [rows, columns] : {std::pair{3, 3}, {3, 4}, {4, 5}, {5, 6}}) {
    std::vector<double> expected;
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c)
        expected.push_back((1 + 2 * std::cos(2 * std::numbers::pi * r / rows) +
                            2 * std::cos(2 * std::numbers::pi * c / columns)) /
                           5);
    std::sort(expected.begin(), expected.end(), std::greater<>());
    const MixingMatrix torus = mixing(gossiping(rows * columns, GossipGraph::torus));
    EXPECT_THAT(eigenvalues(torus), Pointwise(DoubleNear(1e-12), expected))
        << rows << " x " << columns;
    expect_second_eigenvector(torus);
  }
}

TEST(MixingMatrix, torus_with_a_prime_number_of_ranks_is_a_ring) {
  EXPECT_EQ(mixing(gossiping(7, GossipGraph::torus)), mixing(gossiping(7, GossipGraph::ring)));
}

TEST(MixingMatrix, complete_graph_averages_in_one_step) {
  const MixingMatrix complete = mixing(gossiping(6, GossipGraph::complete));
  EXPECT_EQ(complete, (MixingMatrix{6, 6, std::vector<std::int64_t>(36, 1)}));
  EXPECT_NEAR(second_eigenvalue(complete).absolute, 0, 1e-12);
}

// Two devices on each of three hosts, the middle one linked with both others.
TEST(MixingMatrix, drawn_graph_connects_linked_hosts) {
  Experiment e = small(3, 2);
  e.strategy.kind = StrategyKind::gossip;
  e.strategy.gossip.graph = GossipGraph::drawn;
  e.topology.switches.clear();
  const auto& hosts = e.topology.hosts;
  e.topology.links = {{hosts[0].name, hosts[1].name}, {hosts[2].name, hosts[1].name}};
  const MixingMatrix drawn = mixing(e);
  EXPECT_THAT(drawn.neighbors(0), ElementsAre(1, 2, 3));
  EXPECT_THAT(drawn.neighbors(2), ElementsAre(0, 1, 3, 4, 5));
  EXPECT_DOUBLE_EQ(drawn.weight(0, 1), 1.0 / 4);
  EXPECT_DOUBLE_EQ(drawn.weight(0, 2), 1.0 / 6);
  EXPECT_DOUBLE_EQ(drawn.weight(2, 3), 1.0 / 6);
  EXPECT_DOUBLE_EQ(drawn.weight(0, 0), 1 - 1.0 / 4 - 2.0 / 6);
  EXPECT_TRUE(mixing_problems(drawn, "").empty());
  EXPECT_TRUE(gossip_problems(e).empty());
}

RC_GTEST_PROP(MixingMatrix, with_metropolis_weights_is_doubly_stochastic_for_any_graph, ()) {
  const int ranks = *rc::gen::inRange(2, 30);
  Graph graph(static_cast<std::size_t>(ranks));
  const auto join = [&](int a, int b) {
    auto& list = graph[static_cast<std::size_t>(a)];
    if (a == b || std::find(list.begin(), list.end(), b) != list.end()) return;
    list.push_back(b);
    graph[static_cast<std::size_t>(b)].push_back(a);
  };
  for (int i = 1; i < ranks; ++i) join(i, *rc::gen::inRange(0, i));  // a tree
  for (int extra = *rc::gen::inRange(0, 60); extra > 0; --extra)
    join(*rc::gen::inRange(0, ranks), *rc::gen::inRange(0, ranks));
  for (auto& list : graph) std::sort(list.begin(), list.end());
  const MixingMatrix made = metropolis(graph);
  RC_ASSERT(mixing_problems(made, "").empty());
  for (int i = 0; i < ranks; ++i) {
    RC_ASSERT(made.neighbors(i) == graph[static_cast<std::size_t>(i)]);
    double row = 0;
    for (int j = 0; j < ranks; ++j) row += made.weight(i, j);
    RC_ASSERT(std::abs(row - 1) < 1e-12);
  }
  const double second = second_eigenvalue(made).absolute;
  RC_ASSERT(second < 1 - 1e-6);
}

// Numbers of neighbors from 1 to 40: their least common multiple is beyond a trillion, so weights
// are rounded, and still sum to one.
TEST(MixingMatrix, with_many_degrees_is_rounded_with_exact_sums) {
  Graph graph(42);
  for (int i = 0; i < 42; ++i)
    for (int j = 0; j < i; ++j)
      if (i + j >= 41)
        graph[static_cast<std::size_t>(i)].push_back(j),
            graph[static_cast<std::size_t>(j)].push_back(i);
  for (auto& list : graph) std::sort(list.begin(), list.end());
  const MixingMatrix made = metropolis(graph);
  EXPECT_TRUE(mixing_problems(made, "").empty());
  const auto most = static_cast<double>(std::max(graph[41].size(), graph[40].size()));
  EXPECT_NEAR(made.weight(41, 40), 1 / (1 + most), 1e-12);
}

// Matches the problem of a mixing matrix whose text contains all of these numbers and names.
template <class... Details>
auto BadWeight(const std::string& id, const std::string& where, Details... details) {
  return AllOf(IsProblem(id, where), Mentions(details)...);
}

TEST(MixingMatrix, problems_name_ranks_and_weights) {
  const auto problems = [](const MixingMatrix& mixing) { return mixing_problems(mixing, "here"); };
  EXPECT_THAT(problems({2, 4, {3, 1, 1, 3}}), IsEmpty());
  EXPECT_THAT(
      problems({2, 4, {5, -1, -1, 5}}),
      ElementsAre(BadWeight("negative_gossip_weight", "here", "-0.25", "rank 0", "rank 1")));
  EXPECT_THAT(problems({3, 4, {2, 1, 1, 2, 2, 0, 0, 1, 3}}).front(),
              BadWeight("asymmetric_gossip_weights", "here", "0.5", "0.25", "rank 0", "rank 1"));
  EXPECT_THAT(problems({2, 4, {3, 1, 1, 2}}),
              ElementsAre(BadWeight("wrong_sum_of_gossip_weights", "here", "rank 1", "0.75")));
  EXPECT_THAT(problems({4, 2, {1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1}}),
              ElementsAre(BadWeight("gossip_graph_not_connected", "here", "ranks 2 and 3")));
  EXPECT_THAT(problems({2, 1, {0, 1, 1, 0}}),
              ElementsAre(BadWeight("gossip_does_not_converge", "here")));
}

TEST(GossipWeights, are_symmetric_and_the_rank_has_the_rest) {
  Experiment e = gossiping(3, GossipGraph::ring);
  e.strategy.gossip.weights = {{0, 1, 0.25}, {2, 1, 0.5}};
  const MixingMatrix made = mixing(e);
  EXPECT_DOUBLE_EQ(made.weight(0, 1), 0.25);
  EXPECT_DOUBLE_EQ(made.weight(1, 0), 0.25);
  EXPECT_DOUBLE_EQ(made.weight(1, 2), 0.5);
  EXPECT_DOUBLE_EQ(made.weight(1, 1), 0.25);
  EXPECT_NEAR(made.weight(0, 2), 1.0 / 3, 1e-12);
  EXPECT_NEAR(made.weight(0, 0), 1 - 0.25 - 1.0 / 3, 1e-12);
  EXPECT_TRUE(gossip_problems(e).empty());
}

TEST(GossipWeights, are_refused_if_they_are_not_a_mixing_matrix) {
  const auto problem = [](const std::vector<GossipWeight>& weights,
                          GossipGraph graph = GossipGraph::ring) {
    Experiment e = gossiping(4, graph);
    e.strategy.gossip.weights = weights;
    const auto problems = gossip_problems(e);
    return problems.empty() ? base::Problem{} : problems.front();
  };
  const std::string weights = "strategy.gossip.weights", first = weights + "[0]";
  EXPECT_EQ(problem({{0, 0, 0.333333333333}}), base::Problem{})
      << "the last digit is a rounding error";
  EXPECT_THAT(problem({{0, 2, 0.25}}), BadWeight("not_neighbors", first, "0 and 2"));
  EXPECT_EQ(problem({{0, 2, 0.25}}, GossipGraph::complete), base::Problem{});
  EXPECT_THAT(problem({{0, 9, 0.25}}), BadWeight("unknown_rank", first, "rank 9", "0 to 3"));
  EXPECT_THAT(problem({{0, 1, 0.9}}),
              BadWeight("negative_gossip_weight", weights, "rank 0", "-0.23"));
  EXPECT_THAT(problem({{0, 0, 0.5}}),
              BadWeight("wrong_sum_of_gossip_weights", weights, "rank 0", "1.166"));
  EXPECT_THAT(problem({{0, 1, 0.2}, {1, 0, 0.25}}),
              BadWeight("asymmetric_gossip_weights", weights, "rank 1 has the weight 0.2"));
  EXPECT_THAT(problem({{0, 1, 0}, {0, 3, 0}}),
              BadWeight("gossip_graph_not_connected", weights, "ranks 1, 2 and 3"));
}

TEST(GossipProblems, contain_unsupported_settings) {
  const auto where = [](const std::function<void(Experiment&)>& change, int hosts = 1) {
    Experiment e = small(hosts, 4);
    e.strategy.kind = StrategyKind::gossip;
    change(e);
    const auto resolved = resolve(e, ".");
    return resolved ? "" : resolved.error().where;
  };
  EXPECT_EQ(where([](Experiment&) {}), "");
  EXPECT_EQ(where([](Experiment& e) { e.training.non_finite = NonFinite::skip; }),
            "training.non_finite");
  EXPECT_EQ(where([](Experiment& e) { e.strategy.engine = Engine::gloo; }), "strategy.engine");
  EXPECT_EQ(where([](Experiment& e) { e.strategy.average = AveragedQuantity::weights; }),
            "strategy.average");
  EXPECT_EQ(where([](Experiment& e) {
              e.strategy.compression.kind = compute::compression::Scheme::bf16;
            }),
            "strategy.compression.kind");
  EXPECT_EQ(where([](Experiment& e) { e.data.sharding.kind = data::ShardingKind::vertical; }),
            "data.sharding.kind");
  EXPECT_EQ(where([](Experiment& e) { e.strategy.gossip.graph = GossipGraph::drawn; }), "");
  EXPECT_EQ(where([](Experiment& e) { e.strategy.gossip.graph = GossipGraph::drawn; }, 2),
            "strategy.gossip.graph")
      << "hosts on a switch are not linked";
}

}  // namespace
}  // namespace trainyard::experiment
