// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/cost_line.h"

#include <QDeadlineTimer>
#include <QLabel>
#include <QSignalSpy>
#include <QThread>
#include <algorithm>
#include <atomic>
#include <memory>

#include "core/base/json.h"
#include "tests/drawings.h"
#include "tests/problem_matchers.h"
#include "tests/ui/inspector/inspector_fixture.h"

namespace trainyard::ui {
namespace {

// 25 hosts of 8 devices on a switch, with default links. Its simulation takes many seconds.
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

// Substitute for the simulator: judges two ranks immediately, and others never, until it is
// released.
class Judges {
 public:
  Judge judge() {
    return [this](const experiment::Resolved&, const plan::Plan& plan,
                  std::stop_token stop) -> base::Result<QString> {
      ++begun;
      if (plan.ranks == 2) return QString("As drawn: well.");
      for (const QDeadlineTimer limit(20'000); !stop.stop_requested() && !limit.hasExpired();)
        QThread::msleep(1);
      if (stop.stop_requested()) ++freed;
      return base::fail({"test_problem", base::ProblemCode::canceled, "", "given up", "", ""});
    };
  }
  std::atomic<int> begun{0}, freed{0};
};

// A separate cost line of the small experiment with the substitute.
class JudgedLine : public testing::Test {
 protected:
  JudgedLine() { document_.reset(sample()); }
  void draw_three() {
    document_.edit("three", [](experiment::Experiment& e) {
      e.topology.hosts = {tests::drawn_host("host0", 3)};
    });
  }
  bool waits_for_three() {
    return QTest::qWaitFor([&] {
      return line_->cost_text().startsWith("3 ranks") && line_->verdict_text() == "Simulating ...";
    });
  }
  bool says_verdict_of_two() {
    return QTest::qWaitFor([&] {
      return line_->cost_text().startsWith("2 ranks") && line_->verdict_text() == "As drawn: well.";
    });
  }

  Document document_;
  Judges judges_;
  std::unique_ptr<CostLine> line_ = std::make_unique<CostLine>(document_, nullptr, judges_.judge());
};

TEST_F(InspectorTest, undo_and_redo_update_cost_and_verdict) {
  CostLine& cost = inspector_.cost();
  const auto ready = [&] {
    return cost.cost_text().startsWith("2 ranks") && cost.verdict_text().startsWith("As drawn: ");
  };
  ASSERT_TRUE(QTest::qWaitFor(ready));
  document_.edit("none", [](experiment::Experiment& e) { e.topology.hosts.clear(); });
  ASSERT_TRUE(QTest::qWaitFor([&] {
    return cost.cost_text().startsWith("Place a device") && cost.verdict_text().isEmpty();
  }));
  document_.undo_stack().undo();
  ASSERT_TRUE(QTest::qWaitFor(ready));
  wait_for_problems(0);
  document_.set_value("model.layers[2].units", 7);
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return cost.cost_text().startsWith("Not ready") && cost.verdict_text().isEmpty(); }));
  wait_for_problems(1);
  document_.undo_stack().undo();
  ASSERT_TRUE(QTest::qWaitFor(ready));
  wait_for_problems(0);
  EXPECT_EQ(inspector_.layers().problem_text(2), "");
  document_.undo_stack().redo();
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.cost_text().startsWith("Not ready"); }));
}

// The simulation of the large drawing takes long enough to observe the time before its verdict.
TEST_F(InspectorTest, verdict_belongs_to_the_experiment_of_the_cost) {
  CostLine& cost = inspector_.cost();
  const auto judged = [&] { return cost.verdict_text().startsWith("As drawn: "); };
  ASSERT_TRUE(QTest::qWaitFor(judged));
  document_.edit("large", draw_large);
  constexpr int kPatience = 30'000;  // ms, on a loaded machine
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.cost_text().startsWith("200 ranks"); }, kPatience));
  EXPECT_EQ(cost.verdict_text(), "Simulating ...");
  document_.undo_stack().undo();
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.cost_text().startsWith("2 ranks"); }));
  ASSERT_TRUE(QTest::qWaitFor(judged));
}

TEST_F(JudgedLine, drag_does_not_start_a_simulation) {
  ASSERT_TRUE(says_verdict_of_two());
  const auto* soon = line_->findChild<QTimer*>();
  document_.edit("move", [](experiment::Experiment& e) { e.topology.hosts[0].x += 80; });
  ASSERT_TRUE(soon->isActive());
  ASSERT_TRUE(QTest::qWaitFor([&] { return !soon->isActive(); })) << "the change was processed";
  line_->findChild<QThreadPool*>()->waitForDone();
  EXPECT_EQ(judges_.begun, 1);
  document_.set_value("model.layers[0].units", 33);
  ASSERT_TRUE(QTest::qWaitFor([&] { return judges_.begun == 2; }))
      << "a change starts a simulation";
}

// An edit that is undone before its cost was computed must not leave the line without an answer.
TEST_F(InspectorTest, immediately_undone_edit_has_the_previous_verdict) {
  CostLine& cost = inspector_.cost();
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.verdict_text().startsWith("As drawn: "); }));
  QSignalSpy settled(&cost, &CostLine::settled);
  document_.edit("large", draw_large);
  document_.undo_stack().undo();
  ASSERT_TRUE(settled.wait());
  EXPECT_TRUE(cost.cost_text().startsWith("2 ranks"));
  EXPECT_TRUE(cost.verdict_text().startsWith("As drawn: "));
}

TEST_F(JudgedLine, further_typing_cancels_the_simulation) {
  draw_three();
  for (int typed = 0; typed < 3; ++typed) {
    ASSERT_TRUE(waits_for_three());
    ASSERT_TRUE(QTest::qWaitFor([&] { return judges_.begun == typed + 1; }));
    const QString before = line_->cost_text();
    document_.set_value("model.layers[0].units", 33 + typed);
    ASSERT_TRUE(QTest::qWaitFor([&] { return line_->cost_text() != before; }))
        << "the previous simulation blocks the thread";
    EXPECT_TRUE(QTest::qWaitFor([&] { return judges_.freed == typed + 1; }));
  }
  ASSERT_TRUE(QTest::qWaitFor([&] { return judges_.begun == 4; }));
  document_.edit("two", [](experiment::Experiment& e) { e.topology = sample().topology; });
  ASSERT_TRUE(says_verdict_of_two());
  EXPECT_EQ(judges_.freed, 4) << "all simulations of three ranks were canceled";
  EXPECT_EQ(judges_.begun, 5);
}

TEST_F(JudgedLine, destructor_cancels_the_simulation) {
  draw_three();
  ASSERT_TRUE(waits_for_three());
  line_.reset();
  EXPECT_EQ(judges_.begun, 1);
  EXPECT_EQ(judges_.freed, 1);
}

TEST_F(InspectorTest, refused_text_clears_cost_and_verdict) {
  CostLine& cost = inspector_.cost();
  FieldForm& training = inspector_.form("training");
  const auto batch_is_told = [&] {
    return std::ranges::any_of(training.findChildren<QLabel*>(), [](const QLabel* label) {
      return label->text().startsWith("Global batch");
    });
  };
  ASSERT_TRUE(QTest::qWaitFor([&] { return cost.verdict_text().startsWith("As drawn: "); }));
  ASSERT_TRUE(batch_is_told());
  type(training.editor("batch_per_rank"), "0");
  EXPECT_FALSE(batch_is_told());
  ASSERT_TRUE(QTest::qWaitFor([&] {
    return cost.cost_text().startsWith("Not ready") && cost.verdict_text().isEmpty();
  })) << cost.cost_text().toStdString();
  training.editor("epochs")->setFocus();  // the value of the document is back
  EXPECT_TRUE(batch_is_told());
  ASSERT_TRUE(QTest::qWaitFor([&] {
    return cost.cost_text().startsWith("2 ranks") && cost.verdict_text().startsWith("As drawn: ");
  }));
}

TEST_F(InspectorTest, caveat_of_shared_cores_refers_to_a_real_run) {
  document_.edit("greedy", [](experiment::Experiment& e) {
    for (topology::Device& device : e.topology.hosts[0].devices)
      device.cores = 4096;  // more than any machine has
  });
  const auto shown_text = [&] { return inspector_.cost().verdict_text(); };
  ASSERT_TRUE(QTest::qWaitFor([&] { return shown_text().contains(" 2 ranks share "); }))
      << shown_text().toStdString();
  EXPECT_TRUE(shown_text().contains("In a real run")) << shown_text().toStdString();
}

TEST_F(InspectorTest, cost_line_states_savings_of_compression) {
  document_.edit("int8", [](experiment::Experiment& e) {
    e.strategy.compression.kind = compute::compression::Scheme::int8;
  });
  const auto shown_text = [&] { return inspector_.cost().cost_text(); };
  ASSERT_TRUE(QTest::qWaitFor([&] { return shown_text().contains("gradients are encoded"); }))
      << shown_text().toStdString();
  EXPECT_EQ(shown_text().count("3.98x"), 2) << shown_text().toStdString();
}

TEST_F(InspectorTest, cost_line_follows_the_experiment) {
  QSignalSpy settled(&inspector_.cost(), &CostLine::settled);
  ASSERT_TRUE(QTest::qWaitFor([&] { return inspector_.cost().cost_text().startsWith("2 ranks"); }));
  EXPECT_TRUE(inspector_.cost().cost_text().contains("101,770 parameters"))
      << inspector_.cost().cost_text().toStdString();
  EXPECT_TRUE(inspector_.cost().cost_text().contains("407 kB per step"))
      << inspector_.cost().cost_text().toStdString();
  ASSERT_TRUE(settled.size() > 0 || settled.wait());
  EXPECT_TRUE(inspector_.cost().verdict_text().startsWith("As drawn: "))
      << inspector_.cost().verdict_text().toStdString();
  document_.set_value("model.layers[2].units", 7);
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return inspector_.cost().cost_text().startsWith("Not ready"); }));
  EXPECT_EQ(inspector_.cost().verdict_text(), "");
  document_.edit("none", [](experiment::Experiment& e) { e.topology.hosts.clear(); });
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return inspector_.cost().cost_text().startsWith("Place a device"); }));
}

TEST_F(InspectorTest, insufficient_memory_is_reported_until_it_suffices) {
  DisplayProblems memory_problems;
  QObject::connect(&inspector_.cost(), &CostLine::memory_problems_known, &inspector_,
                   [&](const DisplayProblems& now) { memory_problems = now; });
  document_.edit("small", [](experiment::Experiment& e) {
    e.topology.hosts[0].devices[1].memory_bytes = 1'000'000;
  });
  ASSERT_TRUE(QTest::qWaitFor([&] { return memory_problems.size() == 1; }));
  EXPECT_THAT(memory_problems.front().found,
              base::IsProblem("out_of_memory", "topology.hosts[0].devices[1].memory_bytes"));
  EXPECT_THAT(memory_problems.front().displayed,
              testing::AllOf(base::IsProblem("out_of_memory", "cpu1 on host0: Memory"),
                             base::Mentions("cpu1")));
  EXPECT_FALSE(memory_problems.front().displayed.advice.empty());
  EXPECT_EQ(inspector_.cost().memory_problems().size(), 1U);
  document_.undo_stack().undo();
  EXPECT_TRUE(inspector_.cost().memory_problems().empty())
      << "the current drawing is not yet evaluated";
  EXPECT_TRUE(QTest::qWaitFor([&] { return memory_problems.empty(); }));
}

}  // namespace
}  // namespace trainyard::ui
