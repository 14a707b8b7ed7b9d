// SPDX-License-Identifier: GPL-3.0-or-later
// Training on several machines equals training on one.
#include <gmock/gmock.h>

#include "on_machines.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

struct TrainingOnMachines : OnMachines {
  void SetUp() override {
    OnMachines::SetUp();
    if (IsSkipped()) return;
    for (int machine = 1; machine <= 2; ++machine) ASSERT_EQ(add(machine).exit_code, 0);
  }

  // Returns the experiment with its devices on three hosts, as 1:2:4, which a switch connects.
  // The hosts have the addresses; the last one is m0 if it has none.
  static Json spread(const std::string& example_name, const std::vector<std::string>& addresses) {
    Json document = expanded_document(example(example_name));
    Json devices = Json::array();
    for (const Json& host : document["topology"]["hosts"])
      for (const Json& device : host["devices"]) devices.push_back(device);
    const std::size_t count = devices.size(), first = std::max<std::size_t>(1, count / 7),
                      second = first + std::max<std::size_t>(1, 2 * count / 7);
    Json hosts = Json::array(), links = Json::array();
    for (std::size_t h = 0; h < 3; ++h) {
      const std::string name = "host" + std::to_string(h);
      hosts.push_back({{"name", name}, {"devices", Json::array()}});
      links.push_back({{"from", name}, {"to", "switch"}});
      if (h < addresses.size()) hosts[h]["address"] = addresses[h];
    }
    for (std::size_t d = 0; d < count; ++d)
      hosts[d < first ? 0 : d < second ? 1 : 2]["devices"].push_back(devices[d]);
    document["topology"] = {
        {"hosts", hosts}, {"switches", Json::array({{{"name", "switch"}}})}, {"links", links}};
    return document;
  }

  // Runs the experiment and returns its result.
  static Json result_of(const std::string& experiment, const std::vector<std::string>& overrides) {
    const Ran ran = machines_->cli(short_run(experiment, 6, overrides));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.result();
  }

  // Returns the hash of the weights in the last checkpoint of a run.
  static std::string saved_weights(const Json& result) {
    const Ran ran = machines_->on_coordinator(
        {"sh", "-c",
         "rm -f /mnt/weights; \"$0\" export \"$1\" --format safetensors --out /mnt/weights >&2 && "
         "sha256sum /mnt/weights",
         TRAINYARD_BIN_DIR "/trainyard-cli", result.value("run_directory", "")});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.out;
  }

  static void expect_alike(const std::string& name, const std::vector<std::string>& overrides) {
    SCOPED_TRACE(name);
    const Json far = result_of(written(spread(name, {"m1", "m2"})), overrides),
               near = result_of(written(spread(name, {})), overrides);
    EXPECT_EQ(saved_weights(far), saved_weights(near));
    EXPECT_EQ(far["wire_bytes"], near["wire_bytes"]);
    EXPECT_EQ(far["links"], near["links"]);
  }
};

// The rounding of sums depends on the kernels that these variables choose.
TEST_F(TrainingOnMachines, kernels_are_those_of_the_coordinator) {
  const auto weights = [](const std::vector<std::string>& machines, const char* kernels) {
    const Ran ran = machines_->on_coordinator(
        {"env", "-u", "OPENBLAS_L2_SIZE", std::string("OPENBLAS_CORETYPE=") + kernels,
         TRAINYARD_BIN_DIR "/trainyard-cli", "run",
         written(spread("four_devices_fsdp_gpt_grammar", machines)), "--steps", "3", "--json"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return weights_of(ran.result());
  };
  const auto near = weights({}, "Nehalem");
  EXPECT_EQ(weights({"m1", "m2"}, "Nehalem"), near);
  EXPECT_NE(weights({}, "Haswell"), near) << "the variable has an effect";
}

// The first host is another machine, so the chief saves the checkpoint from there.
TEST_F(TrainingOnMachines, examples_end_with_the_same_weights_and_bytes) {
  expect_alike("four_devices_mirrored_digits", {});
  expect_alike("four_devices_fsdp_gpt_grammar", {});
  expect_alike("four_devices_pipeline_gpt_grammar", {});
  expect_alike("four_workers_parameter_server_digits", {"strategy.servers.mode=synchronous"});
  expect_alike("eight_devices_gossip_digits", {"strategy.gossip.graph=ring"});
  expect_alike("two_trainers_rpc_clicks", {});
}

// The monotonic clock of machine mK is K hours ahead.
TEST_F(TrainingOnMachines, times_are_those_of_the_coordinators_clock) {
  if (machines_->on(1, "unshare --time true").exit_code != 0)
    GTEST_SKIP() << "this kernel has no clocks of namespaces";
  const Json result = result_of(written(spread("four_devices_mirrored_digits", {"m1", "m2"})), {});
  ASSERT_EQ(result["clocks"].size(), 2) << result["clocks"];
  for (int machine = 1; machine <= 2; ++machine) {
    const Json& clock = result["clocks"][static_cast<std::size_t>(machine - 1)];
    EXPECT_NEAR(clock["offset_seconds"].get<double>(), 3600 * machine,
                clock["uncertainty_seconds"].get<double>());
    EXPECT_LT(clock["uncertainty_seconds"].get<double>(), 1);
  }
  EXPECT_GT(result["first_step_seconds"].get<double>(), 0);
  EXPECT_LT(result["first_step_seconds"].get<double>(), 60);
}

TEST_F(TrainingOnMachines, data_files_and_checkpoints_are_sent_once) {
  std::ofstream csv(machines_->files(0) / "points.csv");
  csv << "x,y,kind\n";
  for (int i = 0; i < 400; ++i) csv << i % 17 << "," << i % 5 << "," << i % 3 << "\n";
  csv.close();
  Json document = spread("four_workers_parameter_server_digits", {"m1", "m2"});
  document["data"] = {
      {"kind", "csv"}, {"file", "points.csv"}, {"train_samples", 300}, {"held_out_samples", 100}};
  document["model"] = {{"layers", Json::array({{{"kind", "linear"}}})}};
  document["training"]["batch_per_rank"] = 10;
  document["strategy"]["servers"]["mode"] = "synchronous";
  const std::string experiment = written(document);
  const std::string run = "/mnt/data/trainyard/runs/first";
  const Ran first = machines_->cli({"run", experiment, "--steps", "4", "--json", "--out", run});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("sends points.csv to host0 (m1)"));
  const std::string cached = machines_->on(1, "cd /mnt/home/.cache/trainyard/files && ls").out;
  EXPECT_THAT(cached, testing::MatchesRegex("[0-9a-f]{32}\n")) << "one file, complete";
  const Ran resumed =
      machines_->cli({"run", experiment, "--steps", "8", "--json", "--resume", run});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, Not(HasSubstr("sends points.csv")));
  const Ran whole = machines_->cli({"run", experiment, "--steps", "8", "--json"});
  EXPECT_EQ(saved_weights(resumed.result()), saved_weights(whole.result()));
}

TEST_F(TrainingOnMachines, messages_are_unencrypted_only_in_trusted_networks) {
  Json document = spread("four_devices_mirrored_digits", {"m1", "m2"});
  const auto run = [&](const Json& network) {
    document["network"] = network;
    return machines_->cli(short_run(written(document), 6));
  };
  const Ran encrypted = run(Json::object());
  EXPECT_EQ(encrypted.result()["encryption"], "curve");
  const Ran open = run({{"encryption", "none"}, {"trusted", {"10.91.0.0/24"}}});
  ASSERT_EQ(open.exit_code, 0) << open.err;
  EXPECT_EQ(open.result()["encryption"], "none");
  EXPECT_EQ(saved_weights(open.result()), saved_weights(encrypted.result()));
  EXPECT_THAT(run({{"encryption", "none"}, {"trusted", {"192.0.2.0/24"}}}).problems(),
              ElementsAre(Pair("network_not_trusted", "host0 (m1)")));
  EXPECT_THAT(run({{"encryption", "none"}}).problems(),
              ElementsAre(Pair("no_trusted_network", "network.encryption")));
  EXPECT_THAT(run({{"trusted", {"10.91.0.0"}}}).problems(),
              ElementsAre(Pair("bad_network", "network.trusted[0]")));
}

TEST_F(TrainingOnMachines, ranks_use_the_chosen_interface) {
  Json document = spread("four_devices_mirrored_digits", {"m1"});
  document["network"] = {{"interface", "fd91::/64"}};
  const Ran checked = machines_->cli({"hosts", "check", written(document)});
  EXPECT_THAT(checked.out, HasSubstr("fd91::1 to fd91::2"));
  const Ran ran = machines_->cli(short_run(written(document), 6));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  document["network"] = {{"interface", "eth7"}};
  EXPECT_THAT(machines_->cli({"hosts", "check", written(document), "--json"}).problems(),
              ElementsAre(Pair("no_such_interface", "host0")));
  EXPECT_THAT(machines_->cli(short_run(written(document), 6)).problems(),
              ElementsAre(Pair("no_such_interface", "host0 (m1)")));
}

}  // namespace
}  // namespace trainyard::process
