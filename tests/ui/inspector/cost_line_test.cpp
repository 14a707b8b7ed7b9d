// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/cost_line.h"

#include <QSignalSpy>

#include "tests/ui/inspector/inspector_fixture.h"

namespace trainyard::ui {
namespace {

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

TEST_F(InspectorTest, a_verdict_is_never_shown_beside_the_cost_of_another_experiment) {
  CostLine& cost = inspector_.cost();
  const auto judged = [&] { return cost.verdict_text().startsWith("As drawn: "); };
  ASSERT_TRUE(QTest::qWaitFor(judged));
  const QString old = cost.verdict_text();
  document_.edit("slow", [](experiment::Experiment& e) {  // so that the verdict must be another
    e.model.layers[0].units = 256;
    for (topology::Host& host : e.topology.hosts) host.bus_bandwidth_bits_per_second = 1e6;
    for (topology::Link& link : e.topology.links) link.bandwidth_bits_per_second = 1e6;
  });
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.cost_text().contains("203,530 parameters"); }));
  EXPECT_NE(cost.verdict_text(), old);
  ASSERT_TRUE(QTest::qWaitFor(judged));
  EXPECT_NE(cost.verdict_text(), old);
  QSignalSpy settled(&cost, &CostLine::settled);
  document_.edit("move", [](experiment::Experiment& e) { e.topology.hosts[0].x += 80; });
  EXPECT_FALSE(settled.wait(600)) << "a drag costs nothing";
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
