// SPDX-License-Identifier: GPL-3.0-or-later
// Consequences of a failed rank, below the fields of the strategy.
#include "tests/ui/inspector/inspector_fixture.h"

namespace trainyard::ui {
namespace {

using WhenItFails = InspectorTest;

TEST_F(WhenItFails, follows_strategy_mode_roles_and_transport) {
  const auto said = [&] { return inspector_.failures().text().toStdString(); };
  EXPECT_EQ(said(),
            "chief (rank 0): the run ends and names the failed rank; recovery: not in this run.\n"
            "other workers: the run ends and names the failed rank; recovery: not in this run.");
  ASSERT_TRUE(document_.set_value("strategy.kind", "parameter_server").empty());
  document_.edit("a server", [](experiment::Experiment& e) {
    e.topology.hosts[0].devices.push_back(
        {.name = "cpu2", .role = topology::Role::parameter_server});
  });
  EXPECT_TRUE(inspector_.failures().text().startsWith(
      "chief (rank 0): the others continue, down to the last worker; recovery: by Restart"));
  EXPECT_TRUE(inspector_.failures().text().endsWith(
      "parameter server: the run ends and names the failed rank; recovery: not in this run; "
      "without "
      "run.checkpoint_every_steps its training state is lost."))
      << said();
  ASSERT_TRUE(document_.set_value("run.checkpoint_every_steps", 20).empty());
  EXPECT_TRUE(inspector_.failures().text().endsWith(
      "not in this run; another run can resume from its last checkpoint (run.resume_from)."))
      << said();
  ASSERT_TRUE(document_.set_value("strategy.servers.mode", "synchronous").empty());
  EXPECT_TRUE(inspector_.failures().text().startsWith("chief (rank 0): the run ends"));
  ASSERT_TRUE(document_.set_value("run.transport", "inproc").empty());
  EXPECT_TRUE(inspector_.failures().text().startsWith("every rank")) << said();
}

TEST_F(WhenItFails, is_not_there_where_nobody_trains) {
  EXPECT_TRUE(inspector_.failures().isVisibleTo(&inspector_));
  document_.reset({});
  EXPECT_FALSE(inspector_.failures().isVisibleTo(&inspector_));
}

}  // namespace
}  // namespace trainyard::ui
