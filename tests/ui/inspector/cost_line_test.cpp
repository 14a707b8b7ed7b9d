// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/cost_line.h"

#include <QSignalSpy>
#include <ctime>

#include "tests/drawings.h"
#include "tests/ui/inspector/inspector_fixture.h"

namespace trainyard::ui {
namespace {

// 25 hosts of 8 devices on a switch, over links as they come: simulating it takes many seconds.
topology::Topology large_drawing() {
  topology::Topology topology;
  topology.switches.push_back({"hub", 0, 0});
  for (int host = 0; host < 25; ++host) {
    topology.hosts.push_back(tests::drawn_host("host" + std::to_string(host), 8, 8 * host));
    topology.links.push_back({"hub", topology.hosts.back().name});
  }
  return topology;
}

void draw_large(experiment::Experiment& experiment) {
  experiment.topology = large_drawing();
  experiment.strategy.algorithm = collective::Algorithm::direct;
}

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }  // of all threads

TEST_F(InspectorTest, undo_and_redo_take_what_is_said_with_them) {
  CostLine& cost = inspector_.cost();
  const auto ready = [&] { return cost.cost_text().startsWith("2 ranks") && cost.verdict_text().startsWith("As drawn: "); };
  ASSERT_TRUE(QTest::qWaitFor(ready));
  document_.edit("none", [](experiment::Experiment& e) { e.topology.hosts.clear(); });
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.cost_text().startsWith("Place a device") && cost.verdict_text().isEmpty(); }));
  document_.undo_stack().undo();
  ASSERT_TRUE(QTest::qWaitFor(ready));
  wait_for_problems(0);
  document_.set_value("model.layers[2].units", 7);
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.cost_text().startsWith("Not ready") && cost.verdict_text().isEmpty(); }));
  wait_for_problems(1);
  document_.undo_stack().undo();
  ASSERT_TRUE(QTest::qWaitFor(ready));
  wait_for_problems(0);
  EXPECT_EQ(inspector_.layers().problem_text(2), "");
  document_.undo_stack().redo();
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.cost_text().startsWith("Not ready"); }));
}

// The large drawing's verdict takes so long that there is a time in between.
TEST_F(InspectorTest, a_verdict_is_never_shown_beside_the_cost_of_another_experiment) {
  CostLine& cost = inspector_.cost();
  const auto judged = [&] { return cost.verdict_text().startsWith("As drawn: "); };
  ASSERT_TRUE(QTest::qWaitFor(judged));
  document_.edit("large", draw_large);
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.cost_text().startsWith("200 ranks"); }));
  EXPECT_EQ(cost.verdict_text(), "Simulating ...");
  document_.undo_stack().undo();
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.cost_text().startsWith("2 ranks"); }));
  ASSERT_TRUE(QTest::qWaitFor(judged));
}

TEST_F(InspectorTest, a_drag_costs_nothing) {
  CostLine& cost = inspector_.cost();
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.verdict_text().startsWith("As drawn: "); }));
  QSignalSpy settled(&cost, &CostLine::settled);
  document_.edit("move", [](experiment::Experiment& e) { e.topology.hosts[0].x += 80; });
  EXPECT_FALSE(settled.wait(600));
}

// What is undone before anything was reckoned of it must not leave the line without an answer.
TEST_F(InspectorTest, an_edit_that_is_undone_at_once_is_judged_as_before) {
  CostLine& cost = inspector_.cost();
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.verdict_text().startsWith("As drawn: "); }));
  QSignalSpy settled(&cost, &CostLine::settled);
  document_.edit("large", draw_large);
  document_.undo_stack().undo();
  ASSERT_TRUE(settled.wait());
  EXPECT_TRUE(cost.cost_text().startsWith("2 ranks"));
  EXPECT_TRUE(cost.verdict_text().startsWith("As drawn: "));
}

TEST_F(InspectorTest, typing_on_gives_up_the_verdict_of_a_large_drawing) {
  CostLine& cost = inspector_.cost();
  document_.edit("large", draw_large);
  for (int units = 33; units < 36; ++units) {  // typed while it is being judged
    ASSERT_TRUE(QTest::qWaitFor([&] { return cost.cost_text().startsWith("200 ranks") && cost.verdict_text() == "Simulating ..."; }));
    const QString before = cost.cost_text();
    document_.set_value("model.layers[0].units", units);
    ASSERT_TRUE(QTest::qWaitFor([&] { return cost.cost_text() != before; })) << "the old one is in the way";
  }
  document_.edit("small", [](experiment::Experiment& e) { e.topology = sample().topology; });
  const double begin = processor_seconds();
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.verdict_text().startsWith("As drawn: "); }));
  EXPECT_TRUE(cost.cost_text().startsWith("2 ranks"));
  EXPECT_LT(processor_seconds() - begin, 1) << "nothing is left of the large ones";
}

TEST(CostLine, that_goes_does_not_wait_for_its_verdict) {
  Document document;
  experiment::Experiment experiment = sample();
  draw_large(experiment);
  document.reset(experiment);
  auto cost = std::make_unique<CostLine>(document);
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost->cost_text().startsWith("200 ranks"); }));
  const double begin = processor_seconds();
  cost.reset();
  EXPECT_LT(processor_seconds() - begin, 0.1);
}

TEST_F(InspectorTest, the_cost_line_follows_the_experiment) {
  QSignalSpy settled(&inspector_.cost(), &CostLine::settled);
  ASSERT_TRUE(QTest::qWaitFor([&] { return inspector_.cost().cost_text().startsWith("2 ranks"); }));
  EXPECT_TRUE(inspector_.cost().cost_text().contains("101,770 parameters")) << inspector_.cost().cost_text().toStdString();
  EXPECT_TRUE(inspector_.cost().cost_text().contains("407 kB sent a step a rank")) << inspector_.cost().cost_text().toStdString();
  ASSERT_TRUE(settled.size() > 0 || settled.wait());
  EXPECT_TRUE(inspector_.cost().verdict_text().startsWith("As drawn: ")) << inspector_.cost().verdict_text().toStdString();
  document_.set_value("model.layers[2].units", 7);
  ASSERT_TRUE(QTest::qWaitFor([&] { return inspector_.cost().cost_text().startsWith("Not ready"); }));
  EXPECT_EQ(inspector_.cost().verdict_text(), "");
  document_.edit("none", [](experiment::Experiment& e) { e.topology.hosts.clear(); });
  ASSERT_TRUE(QTest::qWaitFor([&] { return inspector_.cost().cost_text().startsWith("Place a device"); }));
}

}  // namespace
}  // namespace trainyard::ui
