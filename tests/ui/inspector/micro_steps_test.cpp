// SPDX-License-Identifier: GPL-3.0-or-later
// Micro-steps and the average of weights in the inspector.
#include <QLabel>
#include <algorithm>

#include "tests/ui/has_all.h"
#include "tests/ui/inspector/inspector_fixture.h"

namespace trainyard::ui {
namespace {

class MicroSteps : public InspectorTest {
 protected:
  QString note() {
    for (const QLabel* label : inspector_.form("training").findChildren<QLabel*>())
      if ((label->text().startsWith("Global batch") ||
           label->text().startsWith("Each step uses")) &&
          label->isVisibleTo(&inspector_))
        return label->text();
    return {};
  }
};

TEST_F(MicroSteps, are_included_in_the_global_batch) {
  EXPECT_THAT(note(), test::HasAll("Global batch", "64 samples", "2 ranks"));
  EXPECT_FALSE(note().contains("micro-steps"));
  document_.set_value("training.accumulation_steps", 4);
  EXPECT_THAT(note(), test::HasAll("Global batch", "256 samples", "2 ranks", "4 micro-steps"));
}

TEST_F(MicroSteps, belong_to_one_worker_in_asynchronous_mode) {
  document_.edit("two workers and a server", [](experiment::Experiment& e) {
    e.topology.hosts[0].devices.push_back(
        {.name = "cpu2", .role = topology::Role::parameter_server});
  });
  document_.set_value("strategy.kind", "parameter_server");
  EXPECT_THAT(note(), test::HasAll("Each step", "32 samples"));
  document_.set_value("training.accumulation_steps", 4);
  EXPECT_THAT(note(), test::HasAll("Each step", "128 samples", "4 micro-steps"));
  document_.set_value("strategy.servers.mode", "synchronous");
  EXPECT_THAT(note(), test::HasAll("Global batch", "256 samples", "2 ranks", "4 micro-steps"));
}

TEST_F(MicroSteps, refused_values_hide_the_global_batch) {
  type(inspector_.form("training").editor("accumulation_steps"), "0");
  EXPECT_EQ(note(), "");
}

// Strategies without this choice do not offer it; a set value is dropped with the old strategy.
TEST_F(MicroSteps, average_is_offered_if_supported) {
  const auto offered = [&] {
    return inspector_.form("strategy").editor("average")->isVisibleTo(&inspector_);
  };
  EXPECT_TRUE(offered());
  document_.set_value("strategy.kind", "ddp");
  EXPECT_FALSE(offered());
  document_.set_value("strategy.kind", "mirrored");
  document_.set_value("strategy.average", "weights");
  EXPECT_TRUE(offered());
  document_.set_value("strategy.kind", "ddp");
  EXPECT_FALSE(offered());
}

}  // namespace
}  // namespace trainyard::ui
