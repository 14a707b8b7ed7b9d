// SPDX-License-Identifier: GPL-3.0-or-later
// Layers on several devices in real processes: what they train to, what they keep, and what the program says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/compute/tensor.h"
#include "core/experiment/stages.h"
#include "core/session/checkpoint.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;

const std::string kVertical = example("two_devices_model_parallel_digits");

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& overrides) {
  for (const std::string& value : {std::string("data.train_samples=700"), std::string("data.held_out_samples=100"), std::string("training.epochs=2"),
                                   std::string("training.batch_per_rank=16"), std::string("training.accumulation_steps=4")})
    arguments.insert(arguments.end(), {"--set", value});
  for (const std::string& value : overrides) arguments.insert(arguments.end(), {"--set", value});
  return arguments;
}

Json trained(const Home& home, const std::string& name, const std::vector<std::string>& overrides) {
  const Ran ran = cli(with({"run", kVertical, "--json", "--out", (home / name).string()}, overrides));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return ran.result();
}

// What a checkpoint holds of the whole model.
std::vector<float> parameters_of(const std::filesystem::path& run) {
  const auto resolved = base::parse_json(read(run / "resolved.json"), "").and_then([](const Json& json) { return experiment::resolved_from_json(json); });
  EXPECT_TRUE(resolved);
  std::vector<float> values(static_cast<std::size_t>(resolved->model.elements));
  const auto loaded = session::read_checkpoint(run / "checkpoints", resolved->model,
                                               compute::Tensor{base::DType::fp32, {resolved->model.elements}, reinterpret_cast<std::byte*>(values.data())});
  EXPECT_TRUE(loaded) << base::to_string(loaded.error());
  return values;
}

TEST(CliPipeline, devices_with_some_layers_each_train_as_one_and_keep_one_checkpoint_of_all) {
  const Home home;
  const Json one = trained(home, "one", {"strategy.kind=one_device", "topology.hosts[0].devices[1].role=idle"});
  const auto weights = parameters_of(home / "one");
  for (const std::string kind : {"model_parallel", "pipeline"})
    for (const std::string transport : {"shm", "zmq"}) {
      const std::string name = kind + "-" + transport;
      const Json result = trained(home, name, {"strategy.kind=" + kind, "run.transport=" + transport});
      EXPECT_EQ(result.at("samples"), one.at("samples"));
      EXPECT_EQ(result.at("steps"), one.at("steps"));
      EXPECT_EQ(result.at("train_loss"), one.at("train_loss"));
      EXPECT_EQ(result.at("held_out_accuracy"), one.at("held_out_accuracy"));
      EXPECT_EQ(parameters_of(home / name), weights);
    }
}

// 256 numbers of a sample forward, and as many back.
TEST(CliPipeline, moves_activations_and_no_parameters) {
  const Home home;
  const Json result = trained(
      home, "run",
      {"strategy.kind=pipeline", "strategy.stages.partition=by_hand", R"(strategy.stages.places=[{"segment": "0", "rank": 0}, {"segment": "2", "rank": 1}])"});
  const std::int64_t trained_samples = 2 * 700, evaluated = 2 * 100;
  EXPECT_EQ(result.at("ranks")[0].at("sent_bytes"), (trained_samples + evaluated) * 256 * 4);
  EXPECT_EQ(result.at("ranks")[1].at("sent_bytes"), trained_samples * 256 * 4);
}

TEST(CliPipeline, is_proved_and_simulated_with_its_stages_and_what_it_idles_at_best) {
  const Ran checked = cli(with({"check", kVertical}, {"strategy.kind=pipeline"}));
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("proved: passing"));
  const Ran simulated = cli(with({"simulate", kVertical}, {"strategy.kind=pipeline"}));
  EXPECT_THAT(simulated.out, testing::AllOf(HasSubstr("idle, at best       20.0 %"), HasSubstr("rank 0 has layer 0, rank 1 has layers 2 to 4")));
  const Json result = cli(with({"simulate", kVertical, "--json"}, {"strategy.kind=pipeline"})).result();
  EXPECT_NEAR(result.at("ideal_bubble_fraction").get<double>(), 0.2, 1e-12);
}

TEST(CliPipeline, that_cannot_be_is_refused_with_what_to_do) {
  const auto refused = [](const std::vector<std::string>& overrides) {
    const Ran ran = cli(with({"validate", kVertical}, overrides));
    EXPECT_EQ(ran.exit_code, 2);
    return ran.err;
  };
  EXPECT_THAT(refused({"strategy.stages.partition=by_hand"}), HasSubstr("strategy.stages.places: no layer is on any device"));
  EXPECT_THAT(refused({"strategy.stages.partition=by_hand", R"(strategy.stages.places=[{"segment": "1", "rank": 0}])"}),
              HasSubstr("\"1\" is no layer that can be on a device by itself"));
  EXPECT_THAT(refused({"strategy.kind=pipeline", "strategy.stages.schedule=interleaved_1f1b", "training.accumulation_steps=3"}),
              HasSubstr("strategy.stages.chunks"));
  EXPECT_THAT(refused({"strategy.engine=gloo"}), HasSubstr("hands on activations"));
}

}  // namespace
}  // namespace trainyard::process
