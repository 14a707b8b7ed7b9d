// SPDX-License-Identifier: GPL-3.0-or-later
// Machines, their agents and preflight, with real sshds (machines.h).
#include <gmock/gmock.h>

#include "on_machines.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// Replaces a file, and restores it.
class Replaced {
 public:
  Replaced(std::string path, const std::string& content) : path_(std::move(path)) {
    old_ = read(path_);
    std::ofstream(path_) << content;
  }
  ~Replaced() { std::ofstream(path_) << old_; }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  std::string path_, old_;
};

TEST_F(OnMachines, agents_are_copied_and_train_to_the_same_weights) {
  const std::string experiment = drawn_on({"m1", "m2", "fd91::4"});
  EXPECT_THAT(machines_->cli(short_run(experiment, 4)).err, HasSubstr("hosts add m1"));
  EXPECT_EQ(machines_->cli({"hosts", "add", "m1"}).exit_code, 4) << "not confirmed";
  for (int machine = 1; machine <= 3; ++machine) {
    const Ran added = add(machine);
    ASSERT_EQ(added.exit_code, 0) << added.err;
  }
  const Ran ran = machines_->cli(short_run(experiment, 12));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json far = ran.result(), near = machines_->cli(short_run(drawn_on({}), 12)).result();
  expect_all_end_alike(far);
  EXPECT_EQ(weights_of(far), weights_of(near));
  EXPECT_EQ(far["wire_bytes"], near["wire_bytes"]);
  for (int machine = 1; machine <= 3; ++machine) {
    EXPECT_THAT(machines_->on(machine, "pgrep -a trainyard").out, IsEmpty());
    EXPECT_THAT(
        machines_->on(machine, "find /tmp /dev/shm -user student ! -name trainyard-1777").out,
        IsEmpty())
        << "nothing is left on m" << machine;
  }
}

TEST_F(OnMachines, list_has_the_machines_that_were_added) {
  ASSERT_EQ(add(2).exit_code, 0);
  const auto lines = machines_->cli({"hosts", "list", "--json"}).lines();
  const auto is_m2 = [](const Json& line) { return line.value("destination", "") == "m2"; };
  const auto found = std::ranges::find_if(lines, is_m2);
  ASSERT_NE(found, lines.end());
  EXPECT_EQ((*found)["host"], "m2");
  EXPECT_THAT((*found)["addresses"], ElementsAre("10.91.0.3", "fd91::3"));
  EXPECT_EQ(machines_->cli({"hosts", "remove", "m2"}).exit_code, 0);
  EXPECT_THAT(machines_->cli({"hosts", "remove", "m2", "--json"}).problems(),
              ElementsAre(Pair("unknown_machine", "m2")));
}

TEST_F(OnMachines, new_host_key_is_trusted_after_its_fingerprint_was_confirmed) {
  const Replaced none(known_hosts(), "");
  EXPECT_THAT(problems_of("m1"), ElementsAre(Pair("host_key_unknown", "host1 (m1)")));
  const Ran wrong =
      machines_->cli({"hosts", "add", "m1", "--yes", "--fingerprint", fingerprint_of(2), "--json"});
  EXPECT_THAT(wrong.problems(), ElementsAre(Pair("not_confirmed", "m1")));
  EXPECT_THAT(read(known_hosts()), IsEmpty());
  const Ran right =
      machines_->cli({"hosts", "add", "m1", "--yes", "--fingerprint", fingerprint_of(1)});
  EXPECT_EQ(right.exit_code, 0) << right.err;
  EXPECT_THAT(read(known_hosts()), HasSubstr("ssh-ed25519"));
  EXPECT_THAT(problems_of("m1"), IsEmpty());
}

TEST_F(OnMachines, programs_answer_questions_of_hosts_add) {
  const Replaced none(known_hosts(), "");
  machines_->on(3, "rm -rf /mnt/home/.cache");
  const auto asked = [](const std::string& answers) {
    return machines_->on_coordinator({"sh", "-c", "printf '" + answers + "' | \"$0\" \"$@\"",
                                      TRAINYARD_BIN_DIR "/trainyard-cli", "hosts", "add", "m3",
                                      "--ask"});
  };
  EXPECT_THAT(asked("no\\n").problems(), ElementsAre(Pair("canceled", "m3")));
  const Ran added = asked("yes\\nyes\\n");
  EXPECT_EQ(added.exit_code, 0) << added.err;
  std::vector<std::string> types;
  for (const Json& line : added.lines())
    if (types.empty() || line["type"] != types.back()) types.push_back(line["type"]);
  EXPECT_THAT(types, ElementsAre("question", "progress", "result"));
  EXPECT_EQ(added.lines().at(0)["fingerprint"], fingerprint_of(3));
  EXPECT_EQ(added.lines().at(1)["subject"], "agent");
}

TEST_F(OnMachines, changed_host_key_is_never_accepted) {
  std::string key = read(machines_->files(2) / "host_key.pub");
  const Replaced other(known_hosts(), "m1 " + key);
  EXPECT_THAT(problems_of("m1"), ElementsAre(Pair("host_key_changed", "host1 (m1)")));
  const Ran added =
      machines_->cli({"hosts", "add", "m1", "--yes", "--fingerprint", fingerprint_of(1), "--json"});
  EXPECT_THAT(added.problems(), ElementsAre(Pair("host_key_changed", "m1")));
}

TEST_F(OnMachines, check_identifies_connections_that_fail) {
  for (const auto& [address, id] :
       {std::pair("stranger@m1", "login_refused"), std::pair("no-such-host", "host_name_unknown"),
        std::pair("ssh://m1:2222", "host_unreachable"),
        std::pair("10.91.0.99", "host_unreachable")})
    EXPECT_THAT(problems_of(address),
                ElementsAre(Pair(id, std::string("host1 (") + address + ")")));
}

TEST_F(OnMachines, check_identifies_missing_and_damaged_agents) {
  machines_->on(3, "rm -rf /mnt/home/.cache");
  EXPECT_THAT(problems_of("m3"), ElementsAre(Pair("agent_missing", "host1 (m3)")));
  ASSERT_EQ(add(3).exit_code, 0);
  machines_->on(3, "echo 0123456789abcdef | tee /mnt/home/.cache/trainyard/agents/*/agent/hash");
  EXPECT_THAT(problems_of("m3"), ElementsAre(Pair("other_agent", "host1 (m3)")));
  machines_->on(3, "rm -rf /mnt/home/.cache");
}

TEST_F(OnMachines, full_disk_and_other_architecture_leave_no_partial_copy) {
  const auto copy = [] { return machines_->cli({"hosts", "add", "m3", "--yes", "--json"}); };
  machines_->on(3,
                "rm -rf /mnt/home/.cache; mkdir -m 777 /mnt/home/.cache; "
                "mount -t tmpfs -o size=1m,mode=777 full /mnt/home/.cache");
  const Ran full = copy();
  EXPECT_THAT(full.problems(), ElementsAre(Pair("agent_not_copied", "m3")));
  EXPECT_THAT(full.err, HasSubstr("No space left on device"));
  EXPECT_THAT(machines_->on(3, "ls -A /mnt/home/.cache/trainyard/agents").out, IsEmpty());
  machines_->on(3,
                "umount /mnt/home/.cache; rm -rf /mnt/home/.cache; printf '#!/bin/sh\\necho m68k' "
                ">/mnt/uname; chmod 755 /mnt/uname; mount --bind /mnt/uname /usr/bin/uname");
  const Ran other = copy();
  EXPECT_THAT(other.problems(), ElementsAre(Pair("agent_not_copied", "m3")));
  EXPECT_THAT(other.err, HasSubstr("m68k"));
  EXPECT_THAT(machines_->on(3, "ls -A /mnt/home/.cache/trainyard/agents").out, IsEmpty());
  machines_->on(3, "umount /usr/bin/uname");
}

TEST_F(OnMachines, canceled_copy_leaves_no_partial_copy) {
  machines_->on(3, "rm -rf /mnt/home/.cache");
  const auto limit = [](const std::string& verb, std::vector<std::string> rate) {
    rate.insert(rate.begin(), {"tc", "qdisc", verb, "dev", "port3", "root"});
    return machines_->on_coordinator(rate);
  };
  // 33 MB take more than ten seconds
  const Ran slowed = limit("add", {"tbf", "rate", "20mbit", "burst", "100kb", "latency", "100ms"});
  if (slowed.exit_code != 0) GTEST_SKIP() << "this kernel cannot limit rates: " << slowed.err;
  const Ran canceled = machines_->on_coordinator({"timeout", "--signal=INT", "--preserve-status",
                                                  "3", TRAINYARD_BIN_DIR "/trainyard-cli", "hosts",
                                                  "add", "m3", "--yes"});
  EXPECT_EQ(canceled.exit_code, 130) << canceled.err;
  EXPECT_EQ(limit("del", {}).exit_code, 0);
  EXPECT_TRUE(wait_until(promised, [] {
    return machines_->on(3, "ls -A /mnt/home/.cache/trainyard/agents").out.empty();
  }));
}

TEST_F(OnMachines, check_compares_machines_with_the_drawing) {
  ASSERT_EQ(add(1).exit_code, 0);
  Json document = expanded_document(example("four_hosts_ring_digits"));
  Json& hosts = document["topology"]["hosts"];
  hosts[1]["address"] = "m1";
  hosts[1]["devices"][0]["cores"] = 1000;
  hosts[1]["devices"][0]["memory_bytes"] = 900e12;
  hosts[2]["address"] = "m1";
  hosts[2]["devices"][0]["memory_bytes"] = 1e6;
  std::ofstream(machines_->files(0) / "drawn.json") << document.dump();
  const Ran ran = machines_->cli({"hosts", "check", "/mnt/drawn.json", "--json"});
  EXPECT_THAT(ran.problems(),
              ElementsAre(Pair("too_few_cores", "host1"), Pair("too_little_memory", "host1"),
                          Pair("machine_named_twice", "host2")));
  int clocks = 0;
  for (const Json& line : ran.lines())
    if (line.value("check", "") == "clock") clocks += line.value("passed", false) ? 1 : 0;
  EXPECT_EQ(clocks, 2);
}

// The rows of the network checks of an experiment on m1 and m2 that failed: "host1 -> host2".
class NetworkChecks : public OnMachines {
 protected:
  void SetUp() override {
    OnMachines::SetUp();
    if (IsSkipped()) return;
    for (int machine = 1; machine <= 2; ++machine) ASSERT_EQ(add(machine).exit_code, 0);
  }
  static auto failed_pairs() {
    return machines_->cli({"hosts", "check", drawn_on({"m1", "m2"}), "--json"}).problems();
  }
  // Filters what m2 receives from m1, except ssh.
  static void filter(const std::string& rule) {
    EXPECT_EQ(machines_
                  ->on(2,
                       "nft add table inet t && nft add chain inet t in "
                       "'{ type filter hook input priority 0; }' && "
                       "nft add rule inet t in ip saddr 10.91.0.2 " +
                           rule + " drop")
                  .exit_code,
              0);
  }
};

TEST_F(NetworkChecks, measure_all_pairs_in_both_directions) {
  const Ran ran = machines_->cli({"hosts", "check", drawn_on({"m1", "m2"}), "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  std::vector<std::string> pairs;
  for (const Json& line : ran.lines()) {
    if (line.value("check", "") != "network") continue;
    pairs.push_back(line["host"]);
    EXPECT_GT(line["bandwidth_bits_per_second"].get<double>(), 1e6);
    EXPECT_GT(line["latency_seconds"].get<double>(), 0);
    EXPECT_THAT(line["text"].get<std::string>(), HasSubstr("(drawn: "));
  }
  EXPECT_THAT(pairs, ElementsAre("host1 -> host2", "host1 -> host0", "host2 -> host1",
                                 "host2 -> host0", "host0 -> host1", "host0 -> host2"));
}

TEST_F(NetworkChecks, identify_a_missing_route_in_one_direction) {
  machines_->on(2, "ip route add unreachable 10.91.0.2");
  EXPECT_THAT(failed_pairs(), testing::Contains(Pair("port_unreachable", "host2 -> host1")));
  machines_->on(2, "ip route del unreachable 10.91.0.2");
}

TEST_F(NetworkChecks, identify_a_firewall_of_data_ports) {
  if (machines_->on(2, "nft list tables").exit_code != 0) GTEST_SKIP() << "there is no nftables";
  filter("tcp dport != 22 ct state new");
  EXPECT_THAT(failed_pairs(), ElementsAre(Pair("port_unreachable", "host1 -> host2")));
  machines_->on(2, "nft delete table inet t");
}

TEST_F(NetworkChecks, identify_lost_large_packets) {
  if (machines_->on(2, "nft list tables").exit_code != 0) GTEST_SKIP() << "there is no nftables";
  filter("tcp dport != 22 meta length '>' 600");
  EXPECT_THAT(failed_pairs(), ElementsAre(Pair("large_packets_lost", "host1 -> host2")));
  machines_->on(2, "nft delete table inet t");
}

TEST_F(OnMachines, check_identifies_a_machine_of_two_names) {
  ASSERT_EQ(add(1).exit_code, 0);
  EXPECT_THAT(
      machines_->cli({"hosts", "check", drawn_on({"m1", "10.91.0.2"}), "--json"}).problems(),
      testing::Contains(Pair("machine_named_twice", "host2")));
}

TEST_F(OnMachines, killed_ssh_ends_the_run_and_all_processes) {
  for (int machine = 1; machine <= 2; ++machine) ASSERT_EQ(add(machine).exit_code, 0);
  const std::string experiment = drawn_on({"m1", "m2"});
  const Ran ran = run_until(experiment, "pkill -KILL -f '^ssh .* m2 '");
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("rank 2"));
  for (int machine = 1; machine <= 2; ++machine) expect_no_process_within(promised, machine);
}

TEST_F(OnMachines, interrupted_network_ends_the_run_and_all_processes) {
  for (int machine = 1; machine <= 2; ++machine) ASSERT_EQ(add(machine).exit_code, 0);
  const Ran ran = run_until(drawn_on({"m1", "m2"}), "ip link set port2 down");
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("rank 2"));
  expect_no_process_within(promised, 1);
  expect_no_process_within(15, 2);  // whose agent hears nothing
  machines_->on_coordinator({"ip", "link", "set", "port2", "up"});
}

}  // namespace
}  // namespace trainyard::process
