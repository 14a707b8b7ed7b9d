// SPDX-License-Identifier: GPL-3.0-or-later
// Machines that join by invitation, and train.
#include <gmock/gmock.h>

#include "on_machines.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kAsStudent =
    "setpriv --reuid=1777 --regid=1777 --clear-groups env -u XDG_RUNTIME_DIR HOME=/mnt/home ";

constexpr const char* kAgent = "/mnt/home/trainyard/bin/trainyard-agent";

class JoinedMachines : public OnMachines {
 protected:
  // Unpacks the archive with the agent on the machines, as a person there would.
  void SetUp() override {
    OnMachines::SetUp();
    for (int machine = 1; !IsSkipped() && machine <= 2; ++machine) {
      const std::filesystem::path directory = machines_->files(machine) / "home/trainyard";
      std::filesystem::create_directories(directory);
      ASSERT_EQ(run_program({"tar", "-xzf", TRAINYARD_BIN_DIR "/../agent/agent.tar.gz", "-C",
                             directory.string()})
                    .exit_code,
                0);
    }
  }
  ~JoinedMachines() override {
    if (machines_) machines_->cli({"hosts", "listen", "--stop"});
  }

  static Json invite(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"hosts", "listen", "--address", "10.91.0.1", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = machines_->cli(arguments);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.result();
  }
  // Starts the agent of a machine, as an ordinary user, in the background.
  static void join(int machine, const std::string& invitation, const std::string& options = "") {
    machines_->on(machine, "setsid " + std::string(kAsStudent) + "sh -c '" + kAgent + " join " +
                               invitation + " --yes " + options +
                               "' </dev/null >/mnt/join.log 2>&1 &");
  }
  static std::vector<std::string> joined_machines() {
    std::vector<std::string> names;
    for (const Json& line : machines_->cli({"hosts", "list", "--json"}).lines())
      if (line.value("joined", false)) names.push_back(line["destination"]);
    return names;
  }
  static bool has_joined(std::size_t count) {
    return wait_until(20, [&] { return joined_machines().size() == count; });
  }
  static std::string log_of(int machine) { return read(machines_->files(machine) / "join.log"); }
};

TEST_F(JoinedMachines, train_to_the_same_weights) {
  const std::string invitation = invite({"--machines", "2"})["invitation"];
  EXPECT_EQ(invitation.substr(0, 16), "10.91.0.1:29700/");
  join(1, invitation);
  join(2, invitation, "--name lab --hours 1");
  ASSERT_TRUE(has_joined(2)) << log_of(1) << log_of(2);
  EXPECT_THAT(joined_machines(), UnorderedElementsAre("joined:m1", "joined:lab"));
  const std::string experiment = drawn_on({"joined:m1", "joined:lab"});
  EXPECT_THAT(machines_->cli({"hosts", "check", experiment, "--json"}).problems(), IsEmpty());
  const Ran ran = machines_->cli(short_run(experiment, 12));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  std::filesystem::copy_file(machines_->files(0) / "experiment.json",
                             machines_->files(0) / "joined.json",
                             std::filesystem::copy_options::overwrite_existing);
  const Json far = ran.result(), near = machines_->cli(short_run(drawn_on({}), 12)).result();
  EXPECT_EQ(weights_of(far), weights_of(near));
  EXPECT_EQ(far["wire_bytes"], near["wire_bytes"]);
  EXPECT_TRUE(wait_until(5, [] { return machines_->on(1, "pgrep trainyard-rank").out.empty(); }));
  EXPECT_EQ(machines_->cli({"hosts", "remove", "joined:lab"}).exit_code, 0);
  expect_no_process_within(5, 2);
  EXPECT_THAT(log_of(2), HasSubstr("removed this machine"));
  EXPECT_EQ(machines_->cli({"hosts", "listen", "--stop"}).exit_code, 0);
  expect_no_process_within(5, 1);
  EXPECT_THAT(machines_->cli({"hosts", "check", "/mnt/joined.json", "--json"}).problems(),
              ElementsAre(Pair("no_listener", "host1 (joined:m1)"),
                          Pair("no_listener", "host2 (joined:lab)")));
}

TEST_F(JoinedMachines, offer_only_what_the_person_agreed_to) {
  join(1, invite()["invitation"], "--cores 1 --memory 3000000000");
  ASSERT_TRUE(has_joined(1)) << log_of(1);
  Json document = expanded_document(example("four_hosts_ring_digits"));
  document["topology"]["hosts"][1]["address"] = "joined:m1";
  document["topology"]["hosts"][1]["devices"][0]["cores"] = 2;
  document["topology"]["hosts"][1]["devices"][0]["memory_bytes"] = 4'000'000'000;
  EXPECT_THAT(machines_->cli({"hosts", "check", written(document), "--json"}).problems(),
              ElementsAre(Pair("too_few_cores", "host1"), Pair("too_little_memory", "host1")));
}

TEST_F(JoinedMachines, only_listen_at_the_chosen_address) {
  invite();
  const std::string ports = machines_->on_coordinator({"ss", "-Htlnp"}).out;
  std::istringstream lines(ports);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string state, received, sent, address;
    words >> state >> received >> sent >> address;
    EXPECT_TRUE(address == "10.91.0.1:29700" || address.starts_with("127.0.0.1:")) << line;
  }
  EXPECT_THAT(ports, HasSubstr("10.91.0.1:29700"));
}

TEST_F(JoinedMachines, need_an_address_if_the_machine_has_several) {
  EXPECT_THAT(machines_->cli({"hosts", "listen", "--json"}).problems(),
              ElementsAre(Pair("address_missing", "--address")));
}

TEST_F(JoinedMachines, without_consent_or_with_a_wrong_code_do_not_join) {
  const std::string invitation = invite()["invitation"];
  const auto join_by = [&](const std::string& text, const std::string& options) {
    return machines_->on(1, std::string(kAsStudent) + "sh -c '" + kAgent + " join " + text + " " +
                                options + "' </dev/null");
  };
  EXPECT_THAT(join_by(invitation, "").err, HasSubstr("not confirmed"));
  const std::string wrong = invitation.substr(0, invitation.size() - 4) + "0000";
  EXPECT_THAT(join_by(wrong, "--yes").err, HasSubstr("does not accept the code"));
  EXPECT_EQ(join_by("nonsense", "--yes").exit_code, 2);
  EXPECT_EQ(machines_->cli({"hosts", "withdraw", invitation}).exit_code, 0);
  EXPECT_THAT(join_by(invitation, "--yes").err, HasSubstr("does not accept the code"));
  EXPECT_THAT(joined_machines(), IsEmpty());
}

TEST_F(JoinedMachines, killed_agent_ends_its_run_with_one_error) {
  join(1, invite()["invitation"]);
  ASSERT_TRUE(has_joined(1)) << log_of(1);
  const Ran ran = machines_->on_coordinator(
      {"sh", "-c",
       "(until pgrep -f 'trainyard-agent --stdio' >/dev/null; do sleep 0.1; done; sleep 2; "
       "pkill -KILL -f 'trainyard-agent join') & exec \"$@\"",
       "sh", TRAINYARD_BIN_DIR "/trainyard-cli", "run", drawn_on({"joined:m1"}), "--steps",
       "1000000", "--json"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.problems().size(), 1U) << ran.err;
  expect_no_process_within(5, 1);
}

TEST_F(JoinedMachines, join_as_processes_of_a_launcher) {
  invite({"--file", "/mnt/invitation"});
  std::filesystem::copy_file(machines_->files(0) / "invitation",
                             machines_->files(1) / "home/invitation",
                             std::filesystem::copy_options::overwrite_existing);
  machines_->on(1, "chown student /mnt/home/invitation");
  const auto launch = [&](const std::string& variables, const std::string& after) {
    return machines_->on(1, "setsid " + std::string(kAsStudent) + "sh -c '" + variables + " " +
                                kAgent +
                                " from-environment --invitation "
                                "/mnt/home/invitation' </dev/null " +
                                after);
  };
  EXPECT_THAT(launch("", "").err, HasSubstr("RANK is not set"));
  EXPECT_THAT(launch("RANK=3 LOCAL_RANK=1", "").err, HasSubstr("one agent serves all ranks"));
  EXPECT_THAT(joined_machines(), IsEmpty());
  launch("RANK=2 LOCAL_RANK=0", ">/mnt/join.log 2>&1 &");
  EXPECT_TRUE(has_joined(1)) << log_of(1);
}

}  // namespace
}  // namespace trainyard::process
