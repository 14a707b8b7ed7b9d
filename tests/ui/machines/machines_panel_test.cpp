// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/machines/machines_panel.h"

#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QTextEdit>
#include <QTreeWidget>

#include "tests/ui/machines/fake_hosts.h"
#include "ui/theme/manual_topic.h"

namespace trainyard::ui {
namespace {

class MachinesPanelTest : public testing::Test {
 protected:
  void open(const char* program) {
    fake_.emplace(program);
    services_ = fake_->services();
    panel_ = std::make_unique<MachinesPanel>(document_, services_);
    panel_->show();
  }
  void draw(const std::vector<const char*>& addresses) {
    document_.edit("draw", [&](experiment::Experiment& e) {
      e.topology.hosts.clear();
      for (std::size_t i = 0; i < addresses.size(); ++i) {
        topology::Host& host = e.topology.hosts.emplace_back();
        host.name = "host" + std::to_string(i);
        host.address = addresses[i];
        host.devices.push_back({.name = "cpu" + std::to_string(i)});
      }
    });
  }
  bool check() {
    QTest::mouseClick(&panel_->check_button(), Qt::LeftButton);
    return QTest::qWaitFor([&] { return panel_->current_check().finished(); }, 20'000);
  }
  QStringList cells(int row) {
    QStringList cells;
    for (int column = 0; column < 5; ++column)
      cells << panel_->table().topLevelItem(row)->text(column);
    return cells;
  }

  std::optional<test::FakeHosts> fake_;
  Services services_;
  Document document_;
  std::unique_ptr<MachinesPanel> panel_;
};

TEST_F(MachinesPanelTest, empty_panel_says_what_to_do) {
  open(test::kThreeFailedRows);
  EXPECT_FALSE(panel_->check_button().isEnabled());
  EXPECT_TRUE(panel_->empty_text().contains("Add machine")) << panel_->empty_text().toStdString();
  draw({"me@node1", ""});
  EXPECT_TRUE(panel_->check_button().isEnabled());
  EXPECT_TRUE(panel_->empty_text().contains("Check machines"));
}

TEST_F(MachinesPanelTest, each_check_is_a_row_with_advice_for_failed_ones) {
  open(test::kThreeFailedRows);
  draw({"me@node1", "node2"});
  ASSERT_TRUE(check());
  EXPECT_TRUE(fake_->asked().startsWith("hosts check "));
  EXPECT_TRUE(fake_->asked().contains(".json --json"));
  ASSERT_EQ(panel_->table().topLevelItemCount(), 5);
  EXPECT_EQ(cells(0), QStringList({"host0", "connection", "passed", "me@node1 as me", ""}));
  EXPECT_EQ(cells(1), QStringList({"host0", "cores", "failed", "the machine has 4 cores (drawn: 8)",
                                   "Draw what the machine has."}));
  EXPECT_EQ(cells(4)[4], "Run trainyard-cli hosts add node2.");
  EXPECT_EQ(panel_->status(), "3 of 5 checks failed");
  EXPECT_EQ(panel_->table().currentItem(), panel_->table().topLevelItem(1));
  ASSERT_TRUE(manual_topic_of(&panel_->table()).problem);
  EXPECT_EQ(manual_topic_of(&panel_->table()).problem->id, "too_few_cores");
}

TEST_F(MachinesPanelTest, activated_row_leads_to_the_field_of_its_host) {
  open(test::kThreeFailedRows);
  draw({"me@node1", "node2"});
  ASSERT_TRUE(check());
  QSignalSpy activated(panel_.get(), &MachinesPanel::activated);
  emit panel_->table().itemActivated(panel_->table().topLevelItem(4), 0);
  ASSERT_EQ(activated.size(), 1);
  EXPECT_EQ(activated[0][0].toString(), "topology.hosts[1].address");
  QSignalSpy requested(panel_.get(), &MachinesPanel::machine_requested);
  panel_->table().setCurrentItem(panel_->table().topLevelItem(4));
  panel_->add_button().click();
  ASSERT_EQ(requested.size(), 1);
  EXPECT_EQ(requested[0][0].toString(), "node2") << "its agent is missing";
}

TEST_F(MachinesPanelTest, check_can_be_repeated_and_is_outdated_by_edits) {
  open(
      "echo '{\"type\":\"check\",\"host\":\"host0\",\"check\":\"connection\",\"passed\":true,"
      "\"text\":\"me\"}'; echo '{\"type\":\"result\",\"status\":\"completed\"}'\n");
  draw({"me@node1"});
  ASSERT_TRUE(check());
  EXPECT_EQ(panel_->status(), "1 check: all passed");
  draw({"me@node2"});
  EXPECT_TRUE(panel_->status().contains("has changed")) << panel_->status().toStdString();
  ASSERT_TRUE(check());
  EXPECT_EQ(panel_->status(), "1 check: all passed");
  EXPECT_EQ(fake_->asked().count('\n'), 2);
}

TEST_F(MachinesPanelTest, check_can_be_canceled) {
  open("exec sleep 60\n");
  draw({"me@node1"});
  panel_->check();
  EXPECT_TRUE(panel_->current_check().running());
  EXPECT_EQ(panel_->status(), "Checking 1 machine ...");
  panel_->current_check().cancel();
  EXPECT_FALSE(panel_->current_check().running());
  EXPECT_TRUE(panel_->check_button().isVisible());
}

TEST_F(MachinesPanelTest, check_that_fails_shows_the_reason) {
  open(
      "echo '{\"type\":\"result\",\"status\":\"refused\",\"problems\":[{\"id\":\"bad\",\"what\":"
      "\"the drawing is bad\"}]}'; exit 2\n");
  draw({"me@node1"});
  ASSERT_TRUE(check());
  EXPECT_TRUE(panel_->empty_text().contains("the drawing is bad"));
  EXPECT_EQ(panel_->status(), "The machines could not be checked");
}

}  // namespace
}  // namespace trainyard::ui
