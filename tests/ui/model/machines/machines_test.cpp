// SPDX-License-Identifier: GPL-3.0-or-later
// Machines that can be drawn, machines that joined, and hosts in the configuration of ssh.
#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "core/session/hosts/listener_messages.h"
#include "tests/ui/machines/fake_hosts.h"
#include "ui/model/machines/known_machines.h"
#include "ui/model/machines/ssh_config.h"

namespace trainyard::ui {
namespace {

TEST(SshConfig, lists_host_entries_without_patterns) {
  EXPECT_EQ(
      ssh_hosts("Host *\n  User me\nHost gpu1 gpu2.lab # comment node9\nhost=quoted\n"
                "  HOST \"my host\" !not lab-?\nHostName real\n# Host commented\nHost gpu1\n"),
      QStringList({"gpu1", "gpu2.lab", "quoted", "my", "host"}));
  EXPECT_TRUE(ssh_hosts("").isEmpty());
}

TEST(DrawnMachine, has_the_cores_memory_and_address_of_the_machine) {
  const topology::Host host =
      drawn_host({"me@node1", "node1.lab.example", "x86_64", 8, 16'600'000'000, {}});
  EXPECT_EQ(host.name, "node1");
  EXPECT_EQ(host.address, "me@node1");
  ASSERT_EQ(host.devices.size(), 1u);
  EXPECT_EQ(host.devices[0].cores, 8);
  EXPECT_EQ(host.devices[0].memory_bytes, 16'600'000'000);
}

TEST(DrawnMachine, gets_a_unique_name) {
  topology::Topology drawing;
  const topology::Host host = drawn_host({"me@node1", "node1", "", 2, 4'000'000'000, {}});
  EXPECT_EQ(add_machine(drawing, host, {8, 16}), "node1");
  EXPECT_EQ(add_machine(drawing, host, {}), "node1-2");
  EXPECT_EQ(add_machine(drawing, host, {}), "node1-3");
  EXPECT_EQ(drawing.hosts[0].x, 8);
  EXPECT_EQ(drawing.hosts[1].devices[0].name, "cpu2");
  EXPECT_TRUE(topology::validate(drawing, "topology").empty());
}

TEST(DrawnMachine, with_an_unusual_hello_is_valid) {
  topology::Topology drawing;
  add_machine(drawing, drawn_host({"x", std::string(300, 'n'), "", 1'000'000, 0, {}}), {});
  add_machine(drawing, drawn_host({"y", "", "", 1, 9'000'000'000'000'000'000, {}}), {});
  EXPECT_TRUE(topology::validate(drawing, "topology").empty());
  EXPECT_LE(drawing.hosts[0].name.size(), 64u);
  EXPECT_EQ(drawing.hosts[0].devices[0].cores, 4096);
  EXPECT_EQ(drawing.hosts[1].name, "host");
}

TEST(ThisMachine, has_cores_and_memory_but_no_address) {
  const session::Machine machine = this_machine();
  EXPECT_TRUE(machine.destination.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory_bytes, 100'000'000);
}

TEST(KnownMachines, follow_the_list_and_remove_from_it) {
  const QTemporaryDir directory;
  const QByteArray before = qgetenv("XDG_DATA_HOME");
  qputenv("XDG_DATA_HOME", directory.path().toUtf8());
  {
    KnownMachines known;
    EXPECT_TRUE(known.machines().empty());
    ASSERT_TRUE(session::add_to_list({"me@node1", "node1", "x86_64", 8, 16'000'000'000, {}}));
    known.refresh();
    EXPECT_EQ(known.addresses(), QStringList("me@node1"));
    // as another program adds it
    ASSERT_TRUE(session::add_to_list({"node2", "node2", "x86_64", 4, 8'000'000'000, {}}));
    EXPECT_TRUE(QTest::qWaitFor([&] { return known.machines().size() == 2; }));
    EXPECT_TRUE(known.remove("me@node1"));
    EXPECT_EQ(known.addresses(), QStringList("node2"));
  }
  if (before.isNull()) qunsetenv("XDG_DATA_HOME");
  else qputenv("XDG_DATA_HOME", before);
}

TEST(KnownMachines, include_joined_machines_which_ssh_cannot_reach) {
  KnownMachines known;
  const QStringList by_ssh = known.ssh_suggestions();
  known.set_joined({{{"joined:lab1", "lab1", "x86_64", 8, 16'000'000'000, {}}, 3600, 0}});
  EXPECT_TRUE(known.addresses().contains("joined:lab1"));
  EXPECT_EQ(known.suggestions(), QStringList("joined:lab1") + by_ssh);
  EXPECT_EQ(known.ssh_suggestions(), by_ssh);
}

// A runtime directory that may contain the socket of a listener.
class JoinedMachinesTest : public testing::Test {
 protected:
  JoinedMachinesTest() : before_(qgetenv("XDG_RUNTIME_DIR")) {
    qputenv("XDG_RUNTIME_DIR", directory_.path().toUtf8());
  }
  ~JoinedMachinesTest() override {
    if (before_.isNull()) qunsetenv("XDG_RUNTIME_DIR");
    else qputenv("XDG_RUNTIME_DIR", before_);
  }
  QString socket() const {
    return QString::fromStdString(
        (*session::listener_directory() / session::kListenerSocket).string());
  }
  QStringList contacts() const {
    QStringList texts;
    for (const JoinedMachine& one : joined_.machines()) texts << contact_text(one);
    return texts;
  }

  QTemporaryDir directory_;
  test::FakeHosts fake_{test::kInvites};
  Services services_ = fake_.services();
  JoinedMachines joined_{services_};

 private:
  QByteArray before_;
};

TEST_F(JoinedMachinesTest, are_listed_while_a_listener_runs) {
  QTest::qWait(100);
  EXPECT_EQ(fake_.asked(), "") << "no listener";
  fake_.write("list", QByteArray(test::kTwoJoined) + test::kOneInvitation);
  ASSERT_TRUE(QFile(socket()).open(QFile::WriteOnly));
  ASSERT_TRUE(QTest::qWaitFor([&] { return joined_.machines().size() == 2; }, 20'000));
  EXPECT_EQ(joined_.machines()[0].machine.destination, "joined:lab1");
  EXPECT_EQ(joined_.machines()[0].machine.cores, 8);
  EXPECT_EQ(contacts(), QStringList({"", "no contact for 12 s"}));
  ASSERT_EQ(joined_.invitations().size(), 1u);
  EXPECT_EQ(joined_.invitations()[0].machines, 1);
  ASSERT_TRUE(QFile::remove(socket()));
  EXPECT_TRUE(QTest::qWaitFor([&] { return joined_.machines().empty(); }, 20'000));
}

TEST_F(JoinedMachinesTest, announce_only_what_has_changed) {
  fake_.write("list", test::kTwoJoined);
  QSignalSpy changed(&joined_, &JoinedMachines::changed);
  joined_.set_frequent(true);
  ASSERT_TRUE(QTest::qWaitFor([&] { return fake_.asked().count('\n') >= 3; }, 20'000));
  EXPECT_EQ(changed.size(), 1);
  fake_.write("list", "");
  ASSERT_TRUE(QTest::qWaitFor([&] { return joined_.machines().empty(); }, 20'000));
  EXPECT_EQ(changed.size(), 2);
}

TEST_F(JoinedMachinesTest, stay_listed_if_the_program_fails) {
  fake_.write("list", test::kTwoJoined);
  joined_.refresh();
  ASSERT_TRUE(QTest::qWaitFor([&] { return joined_.machines().size() == 2; }, 20'000));
  services_.command_line_program = "/nowhere/trainyard-cli";
  joined_.refresh();
  ASSERT_TRUE(QTest::qWaitFor([&] { return joined_.problem().has_value(); }, 20'000));
  EXPECT_EQ(joined_.machines().size(), 2u);
}

}  // namespace
}  // namespace trainyard::ui
