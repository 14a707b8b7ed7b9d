// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::strategy {
namespace {

experiment::Experiment served(int servers, experiment::Experiment e) {
  for (int server = 0; server < servers; ++server)
    e.topology.hosts[0].devices[static_cast<std::size_t>(server)].role =
        topology::Role::parameter_server;
  e.strategy.kind = experiment::StrategyKind::parameter_server;
  return e;
}

std::string refused(const experiment::Experiment& e) {
  const auto plan = make_plan(resolved(e));
  return plan ? "" : plan.error().id;
}

TEST(ParameterServerPlan, with_an_empty_server_is_refused) {
  experiment::Experiment e = served(2, small(4));
  EXPECT_EQ(refused(e), "");
  e.strategy.servers.placement = experiment::VariablePlacement::by_hand;
  for (const model::Parameter& variable : resolved(e).model.parameters)
    e.strategy.servers.places.push_back({variable.name, 1});
  EXPECT_EQ(refused(e), "server_without_variables");
}

// No row is cut, so a part that is shorter than one is none.
TEST(ParameterServerPlan, with_fewer_rows_than_servers_is_refused) {
  experiment::Experiment e = served(8, small_clicks(10));
  e.data.vocabulary = 3;
  e.model.layers = {
      {.kind = model::LayerKind::embedding_bag, .slot_count = 3, .rows = 3, .width = 4096},
      {model::LayerKind::linear, 0}};
  EXPECT_EQ(refused(e), "server_without_variables");
  e.strategy.servers.tables = experiment::TablePull::whole;
  EXPECT_EQ(refused(e), "");
}

}  // namespace
}  // namespace trainyard::strategy
