// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/problems_panel.h"

#include <gtest/gtest.h>

#include <QClipboard>
#include <QGuiApplication>
#include <QSignalSpy>
#include <QTest>
#include <QTextEdit>
#include <QTreeWidget>

#include "tests/ui/has_all.h"

namespace trainyard::ui {
namespace {

class ProblemsPanelTest : public testing::Test {
 protected:
  // An idle device without a worker, and an invalid list of layers.
  ProblemsPanelTest() {
    document_.edit("draw", [](experiment::Experiment& e) {
      topology::Device device;
      device.name = "cpu1";
      device.role = topology::Role::idle;
      topology::Host& host = e.topology.hosts.emplace_back();
      host.name = "host1";
      host.devices.push_back(device);
    });
    document_.set_value("model.layers[2].units", 7);
    EXPECT_TRUE(QTest::qWaitFor([&] { return document_.problems().size() == 2; }))
        << base::to_string(document_.problems());
  }
  QTreeWidget& list() { return *panel_.findChild<QTreeWidget*>(); }
  Document document_;
  ProblemsPanel panel_{document_};
};

TEST_F(ProblemsPanelTest, every_problem_has_location_text_and_advice) {
  ASSERT_EQ(list().topLevelItemCount(), 2);
  EXPECT_EQ(list().topLevelItem(0)->text(0), "Drawing: Hosts");
  EXPECT_EQ(list().topLevelItem(1)->text(0).left(14), "Model: Layer 2");
  EXPECT_TRUE(list().topLevelItem(0)->text(1).contains("no device"));
  EXPECT_TRUE(list().topLevelItem(0)->text(2).contains("Draw a device"));
}

TEST_F(ProblemsPanelTest, activating_a_problem_requests_its_field) {
  QSignalSpy activated(&panel_, &ProblemsPanel::activated);
  emit list().itemActivated(list().topLevelItem(1), 0);
  ASSERT_EQ(activated.size(), 1);
  EXPECT_TRUE(activated[0][0].toString().startsWith("model.layers[2]"))
      << activated[0][0].toString().toStdString();
}

TEST_F(ProblemsPanelTest, problem_of_an_item_has_its_displayed_name_and_fields) {
  document_.edit("draw", [](experiment::Experiment& e) {
    e = {};
    e.topology.hosts = {{.name = "host0",
                         .address = {},
                         .devices = {{.name = "gpu0", .kind = topology::DeviceKind::gpu}}}};
    e.strategy.kind = experiment::StrategyKind::one_device;
    e.run.emulate = false;
  });
  ASSERT_TRUE(QTest::qWaitFor([&] { return document_.problems().size() == 1; }))
      << base::to_string(document_.problems());
  const QTreeWidgetItem& item = *list().topLevelItem(0);
  EXPECT_EQ(item.text(0), "gpu0 on host0: Kind");
  EXPECT_TRUE(item.text(1).contains("\"Run: Emulate\" is off")) << item.text(1).toStdString();
  EXPECT_TRUE(item.text(2).startsWith("Set \"Run: Emulate\" to true"))
      << item.text(2).toStdString();
}

TEST_F(ProblemsPanelTest, remaining_problem_shows_the_new_name_of_a_renamed_item) {
  document_.edit("draw", [](experiment::Experiment& e) {
    e = {};
    e.topology.hosts = {{.name = "host0",
                         .address = {},
                         .devices = {{.name = "gpu0", .kind = topology::DeviceKind::gpu}}}};
    e.strategy.kind = experiment::StrategyKind::one_device;
    e.run.emulate = false;
  });
  const auto where = [&] {
    return list().topLevelItemCount() == 1 ? list().topLevelItem(0)->text(0) : QString();
  };
  ASSERT_TRUE(QTest::qWaitFor([&] { return where() == "gpu0 on host0: Kind"; }))
      << where().toStdString();
  document_.edit("rename", [](experiment::Experiment& e) { e.topology.hosts[0].name = "left"; });
  EXPECT_TRUE(QTest::qWaitFor([&] { return where() == "gpu0 on left: Kind"; }))
      << where().toStdString();
}

TEST_F(ProblemsPanelTest, copies_the_selection_or_all) {
  EXPECT_EQ(panel_.text().count('\n'), 1);
  list().topLevelItem(1)->setSelected(true);
  QTest::keyClick(&list(), Qt::Key_C, Qt::ControlModifier);
  EXPECT_FALSE(panel_.text().contains("topology.hosts"));
  EXPECT_TRUE(panel_.text().contains("model.layers[2]"));
}

TEST_F(ProblemsPanelTest, states_counts_and_an_empty_list) {
  QSignalSpy counted(&panel_, &ProblemsPanel::count_changed);
  document_.undo_stack().undo();
  ASSERT_TRUE(counted.wait());
  EXPECT_EQ(counted.last()[0].toInt(), 1);
  document_.edit("draw", [](experiment::Experiment& e) {
    e.topology.hosts.push_back({.name = "host0", .address = {}, .devices = {{.name = "cpu0"}}});
  });
  document_.set_value("strategy.kind", "one_device");
  ASSERT_TRUE(QTest::qWaitFor([&] { return document_.problems().empty(); }));
  EXPECT_TRUE(list().isHidden());
}

TEST_F(ProblemsPanelTest, insufficient_memory_is_listed_last_with_its_advice) {
  const std::string advice(400, 'x');
  const base::Problem found{"test_problem",
                            base::ProblemCode::bad_input,
                            "topology.hosts[0].devices[0].memory_bytes",
                            "out of memory",
                            "2 GB",
                            advice};
  panel_.resize(900, 400);
  panel_.show();
  QSignalSpy counted(&panel_, &ProblemsPanel::count_changed);
  panel_.set_memory_problems({{found, found}});
  ASSERT_EQ(list().topLevelItemCount(), 3);
  EXPECT_EQ(counted.last()[0].toInt(), 3);
  EXPECT_TRUE(list().topLevelItem(2)->toolTip(2).startsWith(QString::fromStdString(advice)));
  const auto* in_full = panel_.findChild<QTextEdit*>();
  list().setCurrentItem(list().topLevelItem(2));
  EXPECT_THAT(in_full->toPlainText(), test::HasAll("out of memory", advice, "2 GB"));
  EXPECT_TRUE(in_full->isVisible() && in_full->isReadOnly());
  QSignalSpy activated(&panel_, &ProblemsPanel::activated);
  emit list().itemActivated(list().topLevelItem(2), 0);
  EXPECT_EQ(activated[0][0].toString(), "topology.hosts[0].devices[0].memory_bytes");
  panel_.set_memory_problems({});
  EXPECT_EQ(list().topLevelItemCount(), 2);
}

}  // namespace
}  // namespace trainyard::ui
