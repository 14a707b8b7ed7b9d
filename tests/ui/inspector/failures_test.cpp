// SPDX-License-Identifier: GPL-3.0-or-later
// Consequences of a failed rank, below the fields of the strategy.
#include "tests/ui/has_all.h"
#include "tests/ui/inspector/inspector_fixture.h"

namespace trainyard::ui {
namespace {

using FailureSection = InspectorTest;

TEST_F(FailureSection, depends_on_strategy_mode_roles_and_transport) {
  const auto line = [&](qsizetype number) {
    return inspector_.failures().text().split('\n').value(number);
  };
  EXPECT_THAT(line(0), test::HasAll("chief (rank 0): ", "the run ends"));
  EXPECT_THAT(line(1), test::HasAll("other workers: ", "the run ends"));
  EXPECT_EQ(line(2), "");
  ASSERT_TRUE(document_.set_value("strategy.kind", "parameter_server").empty());
  document_.edit("a server", [](experiment::Experiment& e) {
    e.topology.hosts[0].devices.push_back(
        {.name = "cpu2", .role = topology::Role::parameter_server});
  });
  EXPECT_THAT(line(0), test::HasAll("chief (rank 0): ", "last worker", "Restart"));
  EXPECT_THAT(line(2),
              test::HasAll("parameter server: ", "the run ends", "run.checkpoint_every_steps"));
  ASSERT_TRUE(document_.set_value("run.checkpoint_every_steps", 20).empty());
  EXPECT_THAT(line(2), test::HasAll("parameter server: ", "run.resume_from"));
  ASSERT_TRUE(document_.set_value("strategy.servers.mode", "synchronous").empty());
  EXPECT_THAT(line(0), test::HasAll("chief (rank 0): ", "the run ends"));
  ASSERT_TRUE(document_.set_value("run.transport", "inproc").empty());
  EXPECT_THAT(line(0), test::HasAll("every rank"));
}

TEST_F(FailureSection, is_hidden_without_workers) {
  EXPECT_TRUE(inspector_.failures().isVisibleTo(&inspector_));
  document_.reset({});
  EXPECT_FALSE(inspector_.failures().isVisibleTo(&inspector_));
}

}  // namespace
}  // namespace trainyard::ui
