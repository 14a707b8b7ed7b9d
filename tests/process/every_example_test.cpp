// SPDX-License-Identifier: GPL-3.0-or-later
// Every example over every transport trains the same weights as the same plan over `inproc`, bit
// for bit, and moves the same payload. A run whose order of updates is a race is instead recomputed
// from its recorded order, in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "core/base/json.h"
#include "core/experiment/document.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;

std::vector<std::string> example_names() {
  std::vector<std::string> names;
  for (const auto& file :
       std::filesystem::directory_iterator(TRAINYARD_SOURCE_DIR "/resources/experiments"))
    if (file.path().extension() == ".json") names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

experiment::Experiment loaded(const std::string& name) {
  return experiment::load(example(name)).value();
}

// Settings with which the example finds its data; nothing if the data are not on this machine.
std::optional<std::vector<std::string>> data_settings(const experiment::Experiment& experiment) {
  if (experiment.data.kind != data::DataKind::idx) return std::vector<std::string>();
  const char* given = std::getenv("TRAINYARD_TEST_DATA");
  const std::filesystem::path mnist =
      std::filesystem::path(given != nullptr ? given : TRAINYARD_SOURCE_DIR "/../shared/data") /
      "mnist";
  const auto images = mnist / "t10k-images-idx3-ubyte.gz",
             labels = mnist / "t10k-labels-idx1-ubyte.gz";
  if (!std::filesystem::exists(images) || !std::filesystem::exists(labels)) return std::nullopt;
  return std::vector{"data.images=" + images.string(), "data.labels=" + labels.string()};
}

// True if updates are applied in the order in which they arrive.
bool has_races(const experiment::Experiment& experiment) {
  const auto& strategy = experiment.strategy;
  if (experiment.run.clock == experiment::RunClock::virtual_time) return false;
  if (strategy.kind == experiment::StrategyKind::parameter_server)
    return strategy.servers.mode != experiment::ServerMode::synchronous;
  return strategy.kind == experiment::StrategyKind::gossip &&
         strategy.gossip.mode == experiment::GossipMode::asynchronous;
}

std::vector<std::string> parameter_hashes(const Json& result) {
  std::vector<std::string> hashes;
  for (const Json& rank : result["ranks"])
    hashes.push_back(rank["parameters_xxh64"].dump());  // null: it has no parameters
  return hashes;
}

class EveryExample : public testing::TestWithParam<std::string> {};

TEST_P(EveryExample, over_every_transport_equals_the_same_plan_over_inproc) {
  const Home home;
  const experiment::Experiment experiment = loaded(GetParam());
  const auto settings = data_settings(experiment);
  if (!settings) GTEST_SKIP() << "no MNIST in TRAINYARD_TEST_DATA";
  const auto trained_over = [&](const std::string& transport) {
    return completed(
        short_run(example(GetParam()), 6, with(*settings, {"run.transport=" + transport})));
  };
  const bool races = has_races(experiment);
  const Json inproc = trained_over("inproc");
  for (const std::string transport : {"shm", "zmq"}) {
    const Json result = trained_over(transport);
    EXPECT_EQ(result["wire_bytes"]["payload"], inproc["wire_bytes"]["payload"]) << transport;
    if (!races) {
      EXPECT_EQ(parameter_hashes(result), parameter_hashes(inproc)) << transport;
      continue;
    }
    const Ran again =
        cli({"replay", result["run_directory"].get<std::string>(), "--recompute", "--json"});
    EXPECT_EQ(again.exit_code, 0) << transport << ": " << again.err;
  }
}

TEST_P(EveryExample, is_proved_and_simulated) {
  const experiment::Experiment experiment = loaded(GetParam());
  const auto settings = data_settings(experiment);
  if (!settings) GTEST_SKIP() << "no MNIST in TRAINYARD_TEST_DATA";
  const Ran checked = cli(with_set({"check", example(GetParam()), "--json"}, *settings));
  ASSERT_EQ(checked.exit_code, 0) << checked.err;
  const Ran simulated = cli(with_set({"simulate", example(GetParam()), "--json"}, *settings));
  if (experiment.strategy.kind == experiment::StrategyKind::gossip && has_races(experiment)) {
    EXPECT_EQ(simulated.exit_code, 2) << "asynchronous gossip has no simulation";
    return;
  }
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_GT(simulated.result()["step_seconds"].get<double>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Examples, EveryExample, testing::ValuesIn(example_names()),
                         [](const auto& example) { return example.param; });

}  // namespace
}  // namespace trainyard::process
