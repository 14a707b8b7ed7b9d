// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/document/display_problems.h"

#include <gtest/gtest.h>

#include "tests/drawings.h"

namespace trainyard::ui {
namespace {

experiment::Experiment drawn() {
  experiment::Experiment experiment;
  experiment.topology = {{tests::drawn_host("left", 2), tests::drawn_host("right", 1, 2)},
                         {{"hub"}},
                         {{"left", "hub"}}};
  return experiment;
}

// Returns the displayed location of a problem at that path.
std::string displayed_location(const char* path) {
  return display_problems(drawn(),
                          {{"test_problem", base::ProblemCode::bad_input, path, "", "", ""}})
      .at(0)
      .displayed.where;
}

TEST(DisplayLocations, name_fields_like_the_forms_and_items_by_name) {
  EXPECT_EQ(displayed_location("training.optimizer.learning_rate"),
            "Training: Optimizer: Learning rate");
  EXPECT_EQ(displayed_location("run.hang_seconds"), "Run: Hang timeout");
  EXPECT_EQ(displayed_location("model.layers[2].units"), "Model: Layer 2: Units");
  EXPECT_EQ(displayed_location("topology.hosts[0].devices[1].kind"), "cpu1 on left: Kind");
  EXPECT_EQ(displayed_location("topology.hosts[1].address"), "right: Machine");
  EXPECT_EQ(displayed_location("topology.switches[0]"), "hub");
  EXPECT_EQ(displayed_location("topology.links[0].to"), "left – hub: To");
  EXPECT_EQ(displayed_location("topology.links"), "Drawing: Links");
}

TEST(DisplayLocations, keep_other_texts) {
  for (const char* path : {"", "rank 1 (host0/cpu1)", "table.csv", "/tmp/training.json"})
    EXPECT_EQ(displayed_location(path), path);
  EXPECT_EQ(displayed_location("topology.hosts[7].name"), "Drawing: Host 7: Name");
}

TEST(DisplayLocations, are_used_within_the_texts_of_a_problem) {
  const base::Problem found{"test_problem",   base::ProblemCode::bad_input,
                            "run.emulate",    "run.emulate is off",
                            "training.steps", "Raise run.hang_seconds; see table.csv."};
  const DisplayProblems all = display_problems(drawn(), {found, found});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].found, found);
  EXPECT_EQ(all[1].displayed,
            (base::Problem{"test_problem", base::ProblemCode::bad_input, "Run: Emulate",
                           "\"Run: Emulate\" is off", "\"Training: Steps\"",
                           "Raise \"Run: Hang timeout\"; see table.csv."}));
}

}  // namespace
}  // namespace trainyard::ui
