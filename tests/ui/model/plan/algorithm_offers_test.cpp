// SPDX-License-Identifier: GPL-3.0-or-later
// Costs of algorithms match core: for the largest bucket, on the drawing with imposed speeds.
#include "ui/model/plan/algorithm_offers.h"

#include <gtest/gtest.h>

#include "core/experiment/buckets.h"
#include "core/experiment/imposed.h"
#include "tests/core/strategy/rpc_experiments.h"
#include "tests/drawings.h"

namespace trainyard::ui {
namespace {

experiment::Resolved resolved_hosts(
    int hosts, int devices, collective::Algorithm algorithm = collective::Algorithm::automatic) {
  experiment::Experiment e;
  e.topology = tests::drawn_hosts(hosts, devices);
  e.strategy.algorithm = algorithm;
  return experiment::resolve(e, "/nowhere").value();
}

TEST(AlgorithmOffers, are_those_of_the_largest_bucket_on_the_drawing) {
  const auto e = resolved_hosts(2, 3);
  const auto known = compare_algorithms(e);
  const collective::Work work = experiment::largest_reduction(e);
  EXPECT_FALSE(known->problem);
  EXPECT_EQ(known->ranks, 6);
  EXPECT_EQ(known->bucket_bytes, work.bytes());
  EXPECT_EQ(known->offers,
            collective::offers(0, work, topology::Network(e.document.topology)).value());
}

TEST(AlgorithmOffers, use_imposed_speeds_of_links) {
  auto e = resolved_hosts(2, 1);
  const double drawn = compare_algorithms(e)->offers.front().cost.seconds;
  e.document.run.links = experiment::LinkSpeed::imposed;
  e.document.run.link_scale = 0.1;
  EXPECT_GT(compare_algorithms(e)->offers.front().cost.seconds, 5 * drawn);
}

TEST(AlgorithmOffers, auto_matches_the_algorithm_and_reason_of_the_run) {
  for (const auto& [hosts, devices] : {std::pair{1, 2}, {2, 2}, {8, 1}}) {
    const auto e = resolved_hosts(hosts, devices);
    EXPECT_EQ(compare_algorithms(e)->automatic.algorithm, e.document.strategy.algorithm);
    EXPECT_EQ(compare_algorithms(e)->automatic.reason, e.algorithm_reason);
  }
}

// With tensor parallelism the largest reduction is not a bucket. In a mesh, groups of ranks reduce.
TEST(AlgorithmOffers, use_partial_sums_with_tensor_parallel_and_a_bucket_with_replicas) {
  experiment::Experiment e;
  e.topology = tests::drawn_hosts(1, 4);
  e.strategy.kind = experiment::StrategyKind::tensor_parallel;
  const auto parts = compare_algorithms(experiment::resolve(e, "/nowhere"));
  EXPECT_TRUE(parts->inside_layers);
  EXPECT_EQ(parts->ranks, 4);
  e.strategy.kind = experiment::StrategyKind::hybrid;
  e.strategy.mesh = {2, 1, 2, false};
  e.training.batch_per_rank = 1;
  const auto replicas = compare_algorithms(experiment::resolve(e, "/nowhere"));
  EXPECT_FALSE(replicas->inside_layers) << "outputs of one sample are smaller than the weights";
  EXPECT_EQ(replicas->ranks, 2);
  EXPECT_EQ(replicas->picture(collective::Algorithm::ring).devices,
            (std::vector<std::string>{"cpu0", "cpu2"}))
      << "ranks with the same part";
}

TEST(AlgorithmOffers, include_only_torus_for_tpus) {
  experiment::Experiment e;
  e.topology = tests::drawn_tpus(1, 6);
  e.strategy.kind = experiment::StrategyKind::tpu;
  e.strategy.algorithm = collective::Algorithm::automatic;
  const auto resolved = experiment::resolve(e, "/nowhere").value();
  const auto known = compare_algorithms(resolved);
  for (const collective::Offer& offer : known->offers)
    EXPECT_EQ(offer.unfit_reason.empty(), offer.algorithm == collective::Algorithm::torus)
        << offer.unfit_reason;
  EXPECT_EQ(known->automatic.algorithm, collective::Algorithm::torus);
  EXPECT_EQ(known->automatic.reason, resolved.algorithm_reason);
}

TEST(AlgorithmOffers, are_empty_for_one_rank_without_a_problem) {
  const auto known = compare_algorithms(resolved_hosts(1, 1));
  EXPECT_EQ(known->ranks, 1);
  EXPECT_TRUE(known->offers.empty());
  EXPECT_FALSE(known->problem);
}

// A trainer that calls all layers reduces nothing. One that calls some reduces its local layers
// with the other trainers.
TEST(AlgorithmOffers, are_empty_if_all_layers_are_on_servers) {
  const auto known = [](int trainers, experiment::RemoteLayers remote) {
    return compare_algorithms(strategy::resolved(
        strategy::called(strategy::small_wide_and_deep(1), trainers, 1, remote)));
  };
  EXPECT_TRUE(known(2, experiment::RemoteLayers::all)->offers.empty());
  EXPECT_EQ(known(2, experiment::RemoteLayers::all)->ranks, 0);
  EXPECT_TRUE(known(1, experiment::RemoteLayers::embeddings)->offers.empty());
  EXPECT_EQ(known(2, experiment::RemoteLayers::embeddings)->ranks, 2);
  EXPECT_FALSE(known(2, experiment::RemoteLayers::embeddings)->offers.empty());
}

TEST(AlgorithmOffers, flows_name_devices_and_auto_uses_the_selected_algorithm) {
  const auto known = compare_algorithms(resolved_hosts(1, 4));
  const LogicalTopology ring = known->picture(collective::Algorithm::ring);
  EXPECT_EQ(ring.devices, (std::vector<std::string>{"cpu0", "cpu1", "cpu2", "cpu3"}));
  EXPECT_EQ(ring.flows.size(), 4u);
  EXPECT_EQ(known->picture(collective::Algorithm::automatic),
            known->picture(known->automatic.algorithm));
}

TEST(AlgorithmOffers, have_no_flows_of_unsuitable_algorithms) {
  experiment::Experiment e;
  e.topology = tests::drawn_hosts(2, 2);
  e.topology.hosts[1].devices.pop_back();
  const auto known = compare_algorithms(experiment::resolve(e, "/nowhere"));
  EXPECT_TRUE(known->picture(collective::Algorithm::sharded_hierarchical).flows.empty());
  EXPECT_FALSE(known->picture(collective::Algorithm::leader_hierarchical).flows.empty());
}

TEST(AlgorithmOffers, are_canceled_on_request) {
  std::stop_source stop;
  stop.request_stop();
  const auto known = compare_algorithms(resolved_hosts(1, 4), stop.get_token());
  ASSERT_TRUE(known->problem);
  EXPECT_EQ(known->problem->code, base::ProblemCode::canceled);
}

TEST(AlgorithmOffers, have_no_flows_above_the_limit) {
  const auto known = compare_algorithms(resolved_hosts(1, 150));
  EXPECT_TRUE(known->picture(collective::Algorithm::all_to_all).flows.empty())
      << "150 * 149 of them";
  EXPECT_EQ(known->picture(collective::Algorithm::ring).flows.size(), 150u);
}

}  // namespace
}  // namespace trainyard::ui
