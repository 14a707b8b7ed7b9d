// SPDX-License-Identifier: GPL-3.0-or-later
// Other machines in the main window: added, drawn, checked, and replaced by this machine.
#include <QLineEdit>
#include <QMenuBar>
#include <QPushButton>
#include <QStatusBar>
#include <QTest>
#include <QTreeWidget>

#include "tests/ui/has_all.h"
#include "tests/ui/machines/fake_hosts.h"
#include "tests/ui/opened_run.h"

namespace trainyard::ui::test {
namespace {

class Machines : public OpenedRun {
 protected:
  Machines() : data_home_(qgetenv("XDG_DATA_HOME")) {
    qputenv("XDG_DATA_HOME", directory_.path().toUtf8());
  }
  ~Machines() override {
    window_.reset();
    if (data_home_.isNull()) qunsetenv("XDG_DATA_HOME");
    else qputenv("XDG_DATA_HOME", data_home_);
  }
  void open_with(const FakeHosts& fake) {
    ui::Setup with_fake = setup();
    with_fake.services.command_line_program = fake.program();
    with_fake.questions->confirm = [this](const QString& title, const QString&, const QString&) {
      confirmed_ << title;
      return true;
    };
    window_ = make(with_fake);
  }
  void set_address(std::size_t host, const char* address) {
    window_->document().set_value(QString("topology.hosts[%1].address").arg(host), address);
  }
  QPushButton* offered(const QString& text) {
    for (QPushButton* button : window_->center().errors().findChildren<QPushButton*>())
      if (button->isVisible() && button->text() == text) return button;
    return nullptr;
  }
  JoinedMachines& joined() { return window_->panels().joined_machines; }
  QStringList in_palette(const QString& beginning) {
    QStringList texts;
    for (const QListWidgetItem* item :
         window_->panels().palette.findItems(beginning, Qt::MatchStartsWith))
      texts << item->text();
    return texts;
  }
  const std::vector<topology::Host>& hosts() {
    return window_->document().experiment().topology.hosts;
  }

  QStringList confirmed_;

 private:
  QByteArray data_home_;
};

TEST_F(Machines, added_machine_is_drawn_and_the_drawing_can_be_undone) {
  const FakeHosts fake(kAddsMachine);
  open_with(fake);
  ASSERT_TRUE(window_->open(example("four_hosts_ring_digits.json")));
  window_->findChild<QPushButton*>("add_machine_button")->click();
  AddMachineDialog* dialog = window_->machines().dialog();
  ASSERT_NE(dialog, nullptr);
  dialog->address().setText("me@node1");
  dialog->accept_button().click();
  using State = AddMachineDialog::State;
  for (const State state : {State::host_key, State::agent}) {
    ASSERT_TRUE(QTest::qWaitFor([&] { return dialog->state() == state; }, kPatience));
    dialog->accept_button().click();
  }
  ASSERT_TRUE(QTest::qWaitFor([&] { return hosts().size() == 5; }, kPatience));
  EXPECT_EQ(hosts()[4].name, "node1");
  EXPECT_EQ(hosts()[4].address, "me@node1");
  EXPECT_EQ(hosts()[4].devices[0].cores, 8);
  EXPECT_TRUE(window_->statusBar()->currentMessage().startsWith("Added me@node1"));
  window_->document().undo_stack().undo();
  EXPECT_EQ(hosts().size(), 4u);
}

TEST_F(Machines, menu_checks_the_document_and_a_row_leads_to_the_field) {
  const FakeHosts fake(kThreeFailedRows);
  open_with(fake);
  ASSERT_TRUE(window_->open(example("four_hosts_ring_digits.json")));
  set_address(0, "me@node1");
  set_address(1, "node2");
  MachinesPanel& panel = window_->panels().machines;
  EXPECT_FALSE(panel.isVisible());
  window_->machines().check();
  EXPECT_TRUE(panel.isVisible());
  ASSERT_TRUE(QTest::qWaitFor([&] { return panel.table().topLevelItemCount() == 5; }, kPatience));
  emit panel.table().itemActivated(panel.table().topLevelItem(4), 0);
  EXPECT_EQ(window_->selection().picked().names, std::set<std::string>{"host1"});
  window_->workspace().set_perspective(Workspace::Perspective::build);
  EXPECT_FALSE(window_->workspace().dock("machines").isHidden());
  panel.here_button().click();
  EXPECT_EQ(hosts()[0].address + hosts()[1].address, "");
  window_->document().undo_stack().undo();
  EXPECT_EQ(hosts()[1].address, "node2");
  window_->workspace().reset();
  EXPECT_TRUE(window_->workspace().dock("machines").isHidden());
}

TEST_F(Machines, run_refused_because_of_machines_is_offered_on_this_machine) {
  ASSERT_TRUE(window_->open(example("four_hosts_ring_digits.json")));
  set_address(1, "node2");
  window_->document().set_value("run.links", "imposed");
  window_->start_run();
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return offered("Run on this machine") != nullptr; }, kPatience));
  offered("Run on this machine")->click();
  EXPECT_EQ(hosts()[1].address, "");
  EXPECT_TRUE(window_->run_wanted());
}

TEST_F(Machines, run_that_failed_because_of_a_machine_is_offered_on_this_machine) {
  const QString run = live_run_of("four_hosts_ring_digits.json");
  ASSERT_TRUE(window_->open(example("four_hosts_ring_digits.json")));
  ASSERT_TRUE(open_live(run));
  ASSERT_TRUE(end_live("failed", {{"problem",
                                   {{"id", "host_unreachable"},
                                    {"code", "unavailable"},
                                    {"where", "host1 (node2)"},
                                    {"what", "the host does not answer"},
                                    {"accepted", ""},
                                    {"advice", "Check that it runs."}}}}));
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return offered("Run on this machine") != nullptr; }, kPatience));
  offered("Run on this machine")->click();
  EXPECT_TRUE(window_->run_wanted());
}

TEST_F(Machines, document_with_unknown_machines_is_offered_on_this_machine) {
  auto given = *experiment::load(example("four_hosts_ring_digits.json").toStdString());
  given.topology.hosts[1].address = "them@node2";
  const QString file = directory_.filePath("shared.json");
  ASSERT_TRUE(experiment::save(given, file.toStdString()));
  const Banner& banner = window_->center().offers();
  ASSERT_TRUE(window_->open(file));
  EXPECT_TRUE(banner.isVisible());
  EXPECT_TRUE(banner.text().contains("uses 1 machine that you did not add"))
      << banner.text().toStdString();
  EXPECT_TRUE(banner.text().contains("them@node2"));
  ASSERT_TRUE(session::add_to_list({"them@node2", "node2", "x86_64", 8, 16'000'000'000, {}}));
  window_->panels().known_machines.refresh();
  EXPECT_FALSE(banner.isVisible()) << "the machine was added";
  ASSERT_TRUE(window_->open(file));
  EXPECT_FALSE(banner.isVisible());
}

TEST_F(Machines, machine_is_removed_from_list_and_palette) {
  ASSERT_TRUE(session::add_to_list({"me@node1", "node1", "x86_64", 8, 16'000'000'000, {}}));
  window_ = make();
  Palette& palette = window_->panels().palette;
  ASSERT_EQ(palette.findItems("me@node1", Qt::MatchExactly).size(), 1);
  emit palette.removal_requested("me@node1");
  EXPECT_TRUE(palette.findItems("me@node1", Qt::MatchExactly).isEmpty());
  EXPECT_TRUE(session::read_machine_list()->empty());
}

TEST_F(Machines, joined_machine_is_invited_drawn_offered_and_removed) {
  const FakeHosts fake(kInvites);
  open_with(fake);
  ASSERT_TRUE(window_->open(example("four_hosts_ring_digits.json")));
  window_->machines().add("joined:lab1");
  AddMachineDialog* dialog = window_->machines().dialog();
  ASSERT_NE(dialog, nullptr);
  EXPECT_EQ(dialog->way(), AddMachineDialog::Way::invitation);
  fake.write("list", kTwoJoined);
  ASSERT_TRUE(QTest::qWaitFor([&] { return joined().machines().size() == 2; }, kPatience));
  dialog->invite_page().draw_button().click();
  ASSERT_EQ(hosts().size(), 5u);
  EXPECT_EQ(hosts()[4].name, "lab1");
  EXPECT_EQ(hosts()[4].address, "joined:lab1");
  EXPECT_EQ(hosts()[4].devices[0].cores, 8);
  dialog->invite_page().draw_button().click();
  EXPECT_EQ(hosts().size(), 5u) << "it is drawn already";
  dialog->reject();
  EXPECT_EQ(in_palette("joined:"),
            QStringList({"joined:lab1", "joined:lab2 · no contact for 12 s"}));
  EXPECT_EQ(window_->panels().known_machines.suggestions().mid(0, 2),
            QStringList({"joined:lab1", "joined:lab2"}));

  fake.write("list", "");
  emit window_->panels().palette.removal_requested("joined:lab1");
  EXPECT_EQ(confirmed_, QStringList("Remove joined:lab1?"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return in_palette("joined:").isEmpty(); }, kPatience));
  EXPECT_TRUE(fake.asked().contains("hosts remove joined:lab1 --json\n"));
  EXPECT_TRUE(window_->statusBar()->currentMessage().startsWith("Removed joined:lab1"));
}

TEST_F(Machines, document_with_joined_machines_is_not_offered_on_this_machine) {
  const FakeHosts fake(kInvites);
  fake.write("list", kTwoJoined);
  open_with(fake);
  auto given = *experiment::load(example("four_hosts_ring_digits.json").toStdString());
  given.topology.hosts[1].address = "joined:lab2";
  const QString file = directory_.filePath("shared.json");
  ASSERT_TRUE(experiment::save(given, file.toStdString()));
  const Banner& banner = window_->center().offers();
  ASSERT_TRUE(window_->open(file));
  EXPECT_TRUE(banner.isVisible());
  joined().refresh();
  EXPECT_TRUE(QTest::qWaitFor([&] { return !banner.isVisible(); }, kPatience)) << "it has joined";
}

}  // namespace
}  // namespace trainyard::ui::test
