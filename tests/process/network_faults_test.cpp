// SPDX-License-Identifier: GPL-3.0-or-later
// Runs over networks that lose packets, are slow, or are interrupted: the weights are right, or
// there is one clear error.
#include <gmock/gmock.h>

#include "on_machines.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;
using testing::SizeIs;

struct FaultyNetwork : OnMachines {
  void SetUp() override {
    OnMachines::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(add(1).exit_code, 0);
  }
  void TearDown() override {
    if (!machines_) return;
    machines_->on_coordinator({"tc", "qdisc", "del", "dev", "port1", "root"});
    machines_->on_coordinator({"ip", "link", "set", "port1", "up"});
    machines_->on(1, "nft delete table inet t 2>/dev/null");
  }

  // Two hosts, of which host 1 is the machine m1, or this one.
  static std::string experiment(bool far) {
    Json document = expanded_document(example("four_hosts_ring_digits"));
    for (const char* list : {"hosts", "links"}) {
      Json& items = document["topology"][list];
      items.erase(items.begin() + 2, items.end());
    }
    // 31 kB of parameters
    document["model"]["layers"] = {{{"kind", "flatten"}}, {{"kind", "linear"}}};
    if (far) document["topology"]["hosts"][1]["address"] = "m1";
    return written(document);
  }
  static std::set<std::string> right_weights(int steps) {
    const Ran near = machines_->cli(short_run(experiment(false), steps));
    EXPECT_EQ(near.exit_code, 0) << near.err;
    return weights_of(near.result());
  }
  // Runs on m0 with the command executed in the background, once ranks train.
  static Ran run_with(const std::string& command, int steps) {
    std::vector<std::string> all{
        "sh",
        "-c",
        "(until pgrep -f '^ssh .* m1 ' >/dev/null; do sleep 0.1; done; sleep 2; " + command +
            ") & exec \"$@\"",
        "sh",
        "timeout",
        "--signal=KILL",
        "100",
        TRAINYARD_BIN_DIR "/trainyard-cli"};
    for (std::string& word : short_run(experiment(true), steps)) all.push_back(std::move(word));
    return machines_->on_coordinator(all);
  }
};

TEST_F(FaultyNetwork, slow_network_gives_the_right_weights) {
  const auto right = right_weights(8);
  const Ran slowed =
      machines_->on_coordinator({"tc", "qdisc", "add", "dev", "port1", "root", "tbf", "rate",
                                 "1mbit", "burst", "20kb", "latency", "500ms"});
  if (slowed.exit_code != 0) GTEST_SKIP() << "this kernel cannot limit rates: " << slowed.err;
  const Ran ran = machines_->cli(short_run(experiment(true), 8));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(weights_of(ran.result()), right);
}

TEST_F(FaultyNetwork, interruption_of_six_seconds_gives_the_right_weights) {
  const auto right = right_weights(8'000);
  const Ran ran = run_with("ip link set port1 down; sleep 6; ip link set port1 up", 8'000);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(weights_of(ran.result()), right);
  EXPECT_GT(ran.result()["wall_seconds"].get<double>(), 6);
}

TEST_F(FaultyNetwork, long_interruption_is_one_clear_error) {
  const Ran ran = run_with("ip link set port1 down; sleep 20; ip link set port1 up", 1'000'000);
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.problems(), SizeIs(1));
  EXPECT_THAT(ran.err, HasSubstr("Its machine sent nothing either"));
  expect_no_process_within(promised, 1);
}

TEST_F(FaultyNetwork, thirty_percent_loss_gives_the_right_weights_or_one_clear_error) {
  const auto right = right_weights(20);
  const Ran filtered = machines_->on(
      1,
      "nft add table inet t && nft add chain inet t in '{ type filter hook input priority 0; }' "
      "&& nft add rule inet t in numgen random mod 10 '<' 3 drop");
  if (filtered.exit_code != 0) GTEST_SKIP() << "this kernel cannot drop packets: " << filtered.err;
  const Ran ran = run_with("true", 20);
  if (ran.exit_code == 0) EXPECT_EQ(weights_of(ran.result()), right);
  else EXPECT_THAT(ran.problems(), SizeIs(1)) << ran.err;
  EXPECT_TRUE(ran.exit_code == 0 || ran.exit_code == 3) << ran.exit_code;
  machines_->on(1, "nft delete table inet t");
  expect_no_process_within(15, 1);
}

TEST_F(FaultyNetwork, killed_worker_of_another_machine_rejoins) {
  Json document = expanded_document(example("four_workers_parameter_server_digits"));
  Json& hosts = document["topology"]["hosts"];
  hosts.push_back({{"name", "host1"}, {"address", "m1"}, {"devices", {hosts[0]["devices"][0]}}});
  hosts[0]["devices"].erase(0);
  document["topology"]["links"] = {{{"from", "host0"}, {"to", "host1"}}};
  document["run"]["restarts"] = 5;
  const std::string path = written(document);
  const Ran ran = machines_->on_coordinator(
      {"sh", "-c",
       "(until ssh m1 pgrep -f trainyard-rank >/dev/null; do sleep 0.1; done; sleep 1; "
       "ssh m1 pkill -KILL -f trainyard-rank) & exec \"$@\"",
       "sh", "timeout", "--signal=KILL", "100", TRAINYARD_BIN_DIR "/trainyard-cli", "run", path,
       "--steps", "20000", "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const Json result = ran.result();
  const std::string directory =
      result.value("run_directory", "").substr(std::string("/mnt").size());
  EXPECT_THAT(read(machines_->files(0).string() + directory + "/run.log"),
              HasSubstr("replaces the failed one"));
}

TEST_F(FaultyNetwork, hung_agent_is_one_clear_error) {
  const Ran ran = run_with("ssh m1 pkill -STOP -f \"'trainyard-agent --stdio'\"", 1'000'000);
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.problems(), SizeIs(1));
  machines_->on(1, "pkill -CONT -f 'trainyard-agent --stdio'");
  expect_no_process_within(15, 1);
}

}  // namespace
}  // namespace trainyard::process
