// SPDX-License-Identifier: GPL-3.0-or-later
// Machines that can be drawn, and hosts in the configuration of ssh.
#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <QTest>

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

}  // namespace
}  // namespace trainyard::ui
