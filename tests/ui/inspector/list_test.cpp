// SPDX-License-Identifier: GPL-3.0-or-later
// Lists in the inspector: a row for each element, all of which are one value of the document.
#include <QPushButton>
#include <QToolButton>

#include "tests/drawings.h"
#include "tests/ui/inspector/inspector_fixture.h"
#include "ui/inspector/list_editor.h"

namespace trainyard::ui {
namespace {

class Lists : public InspectorTest {
 protected:
  Lists() {
    document_.edit("gossip", [](experiment::Experiment& e) {
      e.topology = tests::drawn_hosts(1, 4);
      e.strategy.kind = experiment::StrategyKind::gossip;
    });
  }
  FieldForm& form() { return inspector_.form("strategy"); }
  ListEditor& weights() { return dynamic_cast<ListEditor&>(*form().editor("gossip.weights")); }
};

TEST_F(Lists, support_adding_changing_and_removing_rows) {
  ASSERT_TRUE(form().field_shown("gossip.weights"));
  EXPECT_EQ(weights().count(), 0);
  weights().adder()->click();
  ASSERT_EQ(weights().count(), 1);
  ASSERT_EQ(now().strategy.gossip.weights.size(), 1u);
  emit weights().editor(0, "b")->edited(1);
  emit weights().editor(0, "weight")->edited(0.25);
  EXPECT_EQ(now().strategy.gossip.weights[0], (experiment::GossipWeight{0, 1, 0.25}));
  weights().adder()->click();
  emit weights().editor(1, "a")->edited(2);
  ASSERT_EQ(now().strategy.gossip.weights.size(), 2u);
  weights().remover(0)->click();
  ASSERT_EQ(now().strategy.gossip.weights.size(), 1u);
  EXPECT_EQ(now().strategy.gossip.weights[0].a, 2);
  document_.undo_stack().undo();
  EXPECT_EQ(weights().count(), 2);
}

TEST_F(Lists, show_problems_at_the_element) {
  document_.edit("weights", [](experiment::Experiment& e) {
    e.strategy.gossip.weights = {{0, 9, 0.2}};
  });
  ASSERT_TRUE(QTest::qWaitFor([&] { return !form().problem_text("gossip.weights").isEmpty(); }));
  EXPECT_TRUE(form().problem_text("gossip.weights").contains("9"))
      << form().problem_text("gossip.weights").toStdString();
}

// The name of a layer must not be empty: the row remains until it is filled in.
TEST_F(Lists, keep_an_incomplete_row_until_it_is_typed) {
  document_.edit("by hand", [](experiment::Experiment& e) {
    e.strategy.kind = experiment::StrategyKind::pipeline;
    e.strategy.stages.partition = experiment::Partition::by_hand;
  });
  auto& places = dynamic_cast<ListEditor&>(*form().editor("stages.places"));
  places.adder()->click();
  ASSERT_EQ(places.count(), 1);
  EXPECT_TRUE(now().strategy.stages.places.empty());
  EXPECT_FALSE(form().problem_text("stages.places").isEmpty());
  emit places.editor(0, "segment")->edited("0");
  ASSERT_EQ(now().strategy.stages.places.size(), 1u);
  EXPECT_EQ(now().strategy.stages.places[0].segment, "0");
}

}  // namespace
}  // namespace trainyard::ui
