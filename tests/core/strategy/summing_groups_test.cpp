// SPDX-License-Identifier: GPL-3.0-or-later
// Groups of ranks that sum: as experiments predict them (experiment/mesh.h), and in plans.
#include <gmock/gmock.h>

#include <set>

#include "core/collective/steps.h"
#include "core/experiment/fields.h"
#include "core/experiment/mesh.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/rpc_experiments.h"

namespace trainyard::strategy {
namespace {

using Groups = std::set<std::vector<int>>;

Groups known(const experiment::Resolved& e) {
  const auto groups = experiment::summing_groups(e.document);
  return {groups.begin(), groups.end()};
}

Groups planned(const experiment::Resolved& e) {
  const plan::Plan plan = coarse_plan(e).value();
  Groups groups;
  for (int number = 0; number < plan.ranks; ++number) {
    const plan::RankPlan rank = plan.rank_plan(number);
    for (const plan::Program& program : rank.programs)
      for (const plan::Op& op : program.ops)
        if (const auto collective = collective::collective_of(op.kind);
            collective && !collective::has_root(*collective)) {
          const auto& ranks = plan.groups[static_cast<std::size_t>(op.group)].ranks;
          groups.emplace(ranks.begin(), ranks.end());
        }
  }
  return groups;
}

experiment::Experiment meshed(int data, int pipeline, int tensor, bool shards = false) {
  experiment::Experiment e = small_rows(data * pipeline * tensor);
  e.strategy.kind = experiment::StrategyKind::hybrid;
  e.strategy.mesh = {data, pipeline, tensor, shards};
  return e;
}

experiment::Experiment tied(int data, int pipeline, int tensor,
                            experiment::PipelineSchedule schedule) {
  experiment::Experiment e = meshed(data, pipeline, tensor);
  e.data = small_tied_gpt(1).data;
  e.model = small_tied_gpt(1).model;
  e.strategy.stages.schedule = schedule;
  return e;
}

std::string mesh_in_words(const experiment::Experiment& e) {
  const experiment::Mesh mesh = experiment::mesh_of(e);
  return std::to_string(mesh.data) + " x " + std::to_string(mesh.pipeline) + " x " +
         std::to_string(mesh.tensor) + " ";
}

TEST(SummingGroups, are_those_of_the_plan) {
  using enum experiment::RemoteLayers;
  experiment::Experiment replicas = small(3), parts = small_rows(2);
  replicas.strategy.kind = experiment::StrategyKind::ddp;
  parts.strategy.kind = experiment::StrategyKind::tensor_parallel;
  for (experiment::Experiment e :
       {replicas, parts, meshed(2, 2, 2), meshed(2, 2, 2, true), meshed(1, 2, 2, true),
        meshed(3, 2, 1), meshed(3, 2, 1, true), meshed(1, 3, 1), meshed(2, 1, 2),
        tied(1, 2, 1, experiment::PipelineSchedule::one_forward_one_backward),
        tied(2, 2, 2, experiment::PipelineSchedule::zb_h1), called(small(1), 3, 2),
        called(small(1), 1, 2), called(small_wide_and_deep(1), 3, 2, embeddings),
        called(small_wide_and_deep(1), 1, 1, embeddings)})
    for (const double clip_norm : {0.0, 1.0}) {
      e.training.clip_norm = clip_norm;
      const experiment::Resolved r = resolved(e);
      EXPECT_EQ(known(r), planned(r))
          << mesh_in_words(e) << base::name_of(e.strategy.kind) << " " << clip_norm;
    }
}

// Hosts that hold as many of all ranks, and not of each group, or the other way round: whatever
// `auto` takes has a plan, on links of any speed.
TEST(SummingGroups, fit_the_automatic_algorithm) {
  const auto on_hosts = [](experiment::Experiment e, const std::vector<int>& devices) {
    e.topology = tests::drawn_hosts(static_cast<int>(devices.size()), 1);
    for (std::size_t h = 0, first = 0; h < devices.size();
         first += static_cast<std::size_t>(devices[h++]))
      e.topology.hosts[h].devices =
          tests::drawn_host("", devices[h], static_cast<int>(first)).devices;
    return e;
  };
  experiment::Experiment trainers = on_hosts(
      called(small_wide_and_deep(1), 4, 1, experiment::RemoteLayers::embeddings), {2, 2, 1});
  trainers.topology.hosts[2].devices[0].role = topology::Role::parameter_server;
  trainers.training.clip_norm = 1;
  experiment::Experiment judged = on_hosts(meshed(4, 2, 1), {2, 2, 4});
  judged.training.clip_norm = 1;
  for (experiment::Experiment e : {on_hosts(meshed(4, 2, 1), {2, 2, 3, 1}), judged,
                                   on_hosts(meshed(6, 2, 1), {4, 4, 4}), trainers})
    for (const double speed : {1e5, 1e8, 1e11})
      for (const double latency : {0.0, 1e-2}) {
        for (topology::Link& link : e.topology.links)
          link.bandwidth_bits_per_second = speed, link.latency_seconds = latency;
        e.strategy.algorithm = collective::Algorithm::automatic;
        const experiment::Resolved r = resolved(e);
        EXPECT_NE(r.document.strategy.algorithm, collective::Algorithm::sharded_hierarchical);
        const plan::Plan plan = make_plan(r).value();
        for (int rank = 0; rank < plan.ranks; ++rank)
          EXPECT_FALSE(plan.rank_plan(rank).programs.empty());
      }
  // If all are possible, the links determine the choice.
  experiment::Experiment even = on_hosts(meshed(4, 2, 1), {2, 2, 2, 2});
  even.strategy.algorithm = collective::Algorithm::automatic;
  for (topology::Link& link : even.topology.links) link.bandwidth_bits_per_second = 1e5;
  EXPECT_EQ(resolved(even).document.strategy.algorithm,
            collective::Algorithm::sharded_hierarchical);
}

}  // namespace
}  // namespace trainyard::strategy
