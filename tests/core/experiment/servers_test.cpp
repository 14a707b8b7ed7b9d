// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/experiment/buckets.h"
#include "core/experiment/rank_duties.h"
#include "tests/core/experiment/problems.h"
#include "tests/core/experiment/samples.h"

namespace trainyard::experiment {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;

// Servers are drawn first.
Experiment served(int workers, int servers) {
  Experiment e = small(1, workers + servers);
  for (int server = 0; server < servers; ++server)
    e.topology.hosts[0].devices[static_cast<std::size_t>(server)].role =
        topology::Role::parameter_server;
  e.strategy.kind = StrategyKind::parameter_server;
  return e;
}

TEST(Servers, are_the_last_ranks) {
  const Resolved resolved = resolve(served(3, 2), ".").value();
  EXPECT_EQ(resolved.world(), 5);
  EXPECT_EQ(resolved.workers(), 3);
  const topology::Network network(resolved.document.topology);
  EXPECT_EQ(network.device(resolved.ranks[0]).name,
            resolved.document.topology.hosts[0].devices[2].name);
  EXPECT_EQ(network.device(resolved.ranks[4]).name,
            resolved.document.topology.hosts[0].devices[1].name);
  EXPECT_EQ(duty_of(resolved.document, 2), "worker");
  EXPECT_EQ(duty_of(resolved.document, 3), "parameter_server");
  EXPECT_TRUE(keeps_parameters(resolved.document, 2));
  EXPECT_FALSE(keeps_parameters(resolved.document, 3));
}

TEST(Servers, are_kept_in_a_resolved_experiment_from_json) {
  const Resolved resolved = resolve(served(3, 2), ".").value();
  const auto back = resolved_from_json(to_json(resolved));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->document, resolved.document);
  EXPECT_EQ(back->servers, 2);
  EXPECT_EQ(back->hosts, resolved.hosts);
}

TEST(Servers, step_is_one_batch_if_asynchronous_and_one_of_each_worker_if_synchronous) {
  Experiment e = served(3, 1);
  EXPECT_EQ(resolve(e, ".")->global_batch, e.training.batch_per_rank);
  for (const ServerMode mode : {ServerMode::synchronous, ServerMode::backup_workers}) {
    e.strategy.servers.mode = mode;
    EXPECT_EQ(resolve(e, ".")->global_batch, 3 * e.training.batch_per_rank);
  }
}

// Three asynchronous workers never need three batches at the same time.
TEST(Servers, batch_must_not_exceed_the_samples_of_a_step) {
  Experiment e = served(3, 1);
  e.training.batch_per_rank = resolve(e, ".")->data.train_samples;
  EXPECT_EQ(ranks_of_step(e), 1);
  EXPECT_EQ(refused(e), base::Problem{});
  e.strategy.servers.mode = ServerMode::synchronous;
  EXPECT_EQ(ranks_of_step(e), 3);
  EXPECT_EQ(refused(e).where, "training.batch_per_rank");
}

TEST(Servers, mode_determines_the_gradients_of_an_update) {
  ServerSpec servers;
  const auto count = [&](ServerMode mode, std::int64_t n = 1) {
    servers.mode = mode, servers.softsync = n;
    return gradients_per_update(servers, 8);
  };
  EXPECT_EQ(count(ServerMode::asynchronous), 1);
  EXPECT_EQ(count(ServerMode::stale_synchronous), 1);
  EXPECT_EQ(count(ServerMode::synchronous), 8);
  EXPECT_EQ(count(ServerMode::softsync, 1), 8);
  EXPECT_EQ(count(ServerMode::softsync, 3), 2);
  EXPECT_EQ(count(ServerMode::softsync, 8), 1);
  servers.backups = 2;
  EXPECT_EQ(count(ServerMode::backup_workers), 6);
}

TEST(Servers, have_every_parameter_once) {
  for (const int servers : {1, 2, 5})
    for (const VariablePlacement placement :
         {VariablePlacement::balanced, VariablePlacement::round_robin}) {
      Experiment e = served(2, servers);
      e.strategy.servers.placement = placement;
      const Resolved resolved = resolve(e, ".").value();
      std::int64_t end = 0;
      std::vector<std::int64_t> of_server(static_cast<std::size_t>(servers));
      for (const Share& share : shares_of_servers(resolved)) {
        EXPECT_EQ(share.first, end);
        EXPECT_GT(share.count, 0);
        end += share.count;
        of_server[static_cast<std::size_t>(share.server)] += share.count;
      }
      EXPECT_EQ(end, resolved.model.elements);
      const auto [least, most] = std::minmax_element(of_server.begin(), of_server.end());
      if (placement == VariablePlacement::balanced) {
        EXPECT_LE(*most - *least, 1);
      }
    }
}

TEST(Servers, have_variables_in_round_robin) {
  Experiment e = served(2, 2);
  e.strategy.servers.placement = VariablePlacement::round_robin;
  const Resolved resolved = resolve(e, ".").value();
  const std::vector<Share> shares = shares_of_servers(resolved);
  for (std::size_t v = 0; v < resolved.model.parameters.size(); ++v) {
    const model::Parameter& variable = resolved.model.parameters[v];
    for (const Share& share : shares) {
      const bool overlaps = share.first < variable.offset + variable.shape.elements() &&
                            variable.offset < share.first + share.count;
      if (overlaps) {
        EXPECT_EQ(share.server, static_cast<int>(v) % 2) << variable.name;
      }
    }
  }
}

TEST(Servers, with_the_fewest_elements_have_variables_not_placed_by_hand) {
  Experiment e = served(2, 2);
  e.strategy.servers.placement = VariablePlacement::by_hand;
  const std::string first = resolve(e, ".")->model.parameters.front().name;
  e.strategy.servers.places = {{first, 1}};
  const Resolved resolved = resolve(e, ".").value();
  const model::Parameter& placed = resolved.model.parameters.front();
  std::int64_t others = 0;
  for (const Share& share : shares_of_servers(resolved)) {
    if (share.first < placed.offset + placed.shape.elements()) {
      EXPECT_EQ(share.server, 1);
    }
    others += share.server == 0 ? share.count : 0;
  }
  EXPECT_GT(others, 0);
  e.strategy.servers.places.push_back({first, 0});
  EXPECT_EQ(refused(e).where, "strategy.servers.places[1].variable");
  e.strategy.servers.places = {{first, 2}};
  EXPECT_EQ(refused(e).where, "strategy.servers.places[0].server");
  e.strategy.servers.places = {{"9.weight", 0}};
  EXPECT_EQ(refused(e).where, "strategy.servers.places[0].variable");
  EXPECT_EQ(refused(e).id, "unknown_variable");
}

TEST(Servers, shares_end_at_bucket_boundaries) {
  Experiment e = served(2, 1);
  e.strategy.bucket_bytes = 1;
  const Resolved resolved = resolve(e, ".").value();
  EXPECT_EQ(shares_of_servers(resolved).size(), buckets(resolved).size());
}

// An embedding table has separate shares, each with complete rows.
TEST(Servers, have_complete_rows_of_tables) {
  for (const int servers : {1, 2, 3, 7}) {
    Experiment e = served(2, servers);
    e.data.kind = data::DataKind::clicks;
    e.data.slot_count = 3, e.data.dense = 2, e.data.vocabulary = 40;
    e.model.layers = {
        {.kind = model::LayerKind::embedding_bag, .slot_count = 3, .rows = 42, .width = 4},
        {model::LayerKind::linear, 0}};
    const Resolved resolved = resolve(e, ".").value();
    const model::Segment& table = resolved.model.segments.front();
    ASSERT_EQ(table.elements, 42 * 4);
    std::int64_t end = 0, rows = 0;
    for (const Share& share : shares_of_servers(resolved)) {
      EXPECT_EQ(share.first, end);
      end += share.count;
      EXPECT_EQ(share.table, share.first < table.elements ? 0 : -1);
      if (share.table < 0) continue;
      EXPECT_EQ(share.count % 4, 0) << servers;
      EXPECT_LE(end, table.elements);
      rows += share.count / 4;
    }
    EXPECT_EQ(end, resolved.model.elements);
    EXPECT_EQ(rows, 42);
    e.strategy.servers.tables = TablePull::whole;
    for (const Share& share : shares_of_servers(resolve(e, ".").value()))
      EXPECT_EQ(share.table, -1);
  }
}

TEST(Servers, require_a_server_and_a_worker) {
  Experiment e = served(2, 1);
  e.topology.hosts[0].devices[0].role = topology::Role::idle;
  EXPECT_EQ(refused(e).id, "no_server");
  e = served(1, 1);
  e.topology.hosts[0].devices[1].role = topology::Role::idle;
  EXPECT_EQ(refused(e).id, "no_worker");
}

TEST(Servers, other_strategies_refuse_a_server_at_its_role) {
  Experiment e = served(2, 1);
  e.strategy.kind = StrategyKind::mirrored;
  EXPECT_EQ(refused(e).where, "topology.hosts[0].devices[0].role");
  EXPECT_EQ(refused(e).id, "role_not_used");
}

TEST(Servers, parameters_of_modes_must_not_exceed_the_workers) {
  Experiment e = served(3, 1);
  e.strategy.servers = {.mode = ServerMode::softsync, .softsync = 4};
  EXPECT_EQ(refused(e).where, "strategy.servers.softsync");
  EXPECT_EQ(refused(e).accepted, "1 to 3");
  e.strategy.servers = {.mode = ServerMode::backup_workers, .backups = 3};
  EXPECT_EQ(refused(e).where, "strategy.servers.backups");
  e.strategy.servers = {.mode = ServerMode::stale_synchronous, .bound = -1};
  EXPECT_EQ(refused(e).where, "strategy.servers.bound");
}

// Each server would drop the gradients of different workers.
TEST(Servers, backup_workers_require_one_server) {
  Experiment e = served(3, 2);
  e.strategy.servers.mode = ServerMode::backup_workers;
  EXPECT_EQ(refused(e).id, "backups_with_several_servers");
  e.topology.hosts[0].devices[1].role = topology::Role::idle;
  EXPECT_EQ(refused(e), base::Problem{});
}

TEST(Servers, virtual_clock_requires_servers) {
  Experiment e = served(3, 1);
  e.run.clock = RunClock::virtual_time;
  EXPECT_EQ(refused(e), base::Problem{});
  e.topology.hosts[0].devices[0].role = topology::Role::idle;
  e.strategy.kind = StrategyKind::mirrored;
  EXPECT_EQ(refused(e).where, "run.clock");
}

TEST(Servers, staleness_theory_matches_the_literature) {
  const auto theory = [](ServerSpec servers, int workers) {
    return staleness_theory(servers, workers);
  };
  EXPECT_EQ(theory({.mode = ServerMode::asynchronous}, 8).mean, 7);
  EXPECT_EQ(theory({.mode = ServerMode::softsync, .softsync = 4}, 8).mean, 3.5);
  EXPECT_EQ(theory({.mode = ServerMode::softsync, .softsync = 3}, 8).mean, std::nullopt)
      << "an update takes 2 gradients, and 3 x 2 is not 8";
  EXPECT_EQ(theory({.mode = ServerMode::stale_synchronous, .bound = 2}, 4).most, 15);
  EXPECT_EQ(theory({.mode = ServerMode::stale_synchronous, .bound = 2}, 4).mean, std::nullopt);
  EXPECT_EQ(theory({.mode = ServerMode::backup_workers}, 4).most, 0);
}

TEST(Servers, softsync_line_states_the_gradients_of_an_update) {
  const auto line = [](int workers, std::int64_t n, ServerMode mode = ServerMode::softsync) {
    Experiment e = served(workers, 1);
    e.strategy.servers.mode = mode, e.strategy.servers.softsync = n;
    return softsync_line(e);
  };
  for (const std::int64_t divisor : {1, 2, 4, 8}) EXPECT_EQ(line(8, divisor), std::nullopt);
  EXPECT_EQ(line(8, 3, ServerMode::asynchronous), std::nullopt);
  EXPECT_EQ(line(8, 9), std::nullopt) << "validation refuses more than the workers";
  EXPECT_THAT(line(8, 5), Optional(AllOf(HasSubstr("8 workers"), HasSubstr("softsync 5"),
                                         HasSubstr("1 gradient"), HasSubstr("asynchronous"))));
  EXPECT_THAT(line(8, 3), Optional(AllOf(HasSubstr("softsync 3"), HasSubstr("2 gradients"),
                                         HasSubstr("softsync 4"))));
  EXPECT_THAT(line(7, 3), Optional(AllOf(HasSubstr("7 workers"), HasSubstr("softsync 3"),
                                         HasSubstr("2 gradients"), HasSubstr("staleness"))));
}

TEST(Servers, settings_that_need_the_global_gradient_are_refused) {
  const auto where = [](auto change) {
    Experiment e = served(2, 1);
    change(e);
    return refused(e).where;
  };
  EXPECT_EQ(where([](Experiment& e) { e.training.clip_norm = 1; }), "training.clip_norm");
  EXPECT_EQ(where([](Experiment& e) { e.training.non_finite = NonFinite::skip; }),
            "training.non_finite");
  EXPECT_EQ(where([](Experiment& e) { e.data.sharding.kind = data::ShardingKind::label_skew; }),
            "data.sharding.kind");
  EXPECT_EQ(where([](Experiment& e) {
              e.strategy.compression.kind = compute::compression::Scheme::fp16;
            }),
            "strategy.compression.kind");
  EXPECT_EQ(where([](Experiment& e) { e.strategy.average = AveragedQuantity::weights; }),
            "strategy.average");
}

}  // namespace
}  // namespace trainyard::experiment
