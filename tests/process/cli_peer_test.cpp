// SPDX-License-Identifier: GPL-3.0-or-later
// Output with which another program can repeat a run: the initial weights and the order of samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "cli_program.h"
#include "core/base/json.h"
#include "core/experiment/resolve.h"
#include "core/session/checkpoint/model_weights.h"
#include "core/session/checkpoint/safetensors.h"
#include "core/session/system/run_documents.h"
#include "examples.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::Pair;

std::vector<std::string> names_of(const std::vector<session::NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const session::NamedTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

class CliPeer : public testing::Test {
 protected:
  std::string run(const std::string& experiment, int steps,
                  const std::vector<std::string>& overrides,
                  const std::vector<std::string>& options = {}) {
    const std::string directory = scratch_ / ("run" + std::to_string(++runs_));
    const Ran ran = cli(with(with_set({"run", experiment, "--json", "--steps",
                                       std::to_string(steps), "--out", directory},
                                      with({"data.held_out_samples=100"}, overrides)),
                             options));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    result_ = ran.result();
    return directory;
  }

  Scratch scratch_;
  base::Json result_;
  int runs_ = 0;
};

TEST_F(CliPeer, initial_weights_are_those_that_a_run_without_updates_keeps) {
  const std::string directory = run(kMirrored, 2, {"training.optimizer.learning_rate=0"});
  const std::string file = scratch_ / "initial.safetensors";
  const Ran ran =
      cli({"export", directory, "--format", "safetensors", "--step", "0", "--out", file, "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.result()["step"], 0);
  EXPECT_EQ(ran.result()["bytes"], fs::file_size(file));
  const std::string bytes = read(file);
  const auto tensors = session::read_safetensors(bytes, file).value();
  EXPECT_THAT(names_of(tensors),
              ElementsAre("0.weight", "0.bias", "2.weight", "2.bias", "4.weight", "4.bias"));
  EXPECT_EQ(tensors[0].shape, (compute::Shape{256, 784}));
  EXPECT_EQ(tensors[5].shape, compute::Shape{10});
  const auto e = session::read_resolved(directory).value();
  EXPECT_EQ(session::initial_weights(e).parameters_xxh64(),
            result_["ranks"][0]["parameters_xxh64"].get<std::string>());
  const std::string newest = scratch_ / "newest.safetensors";
  const Ran other =
      cli({"export", directory, "--format", "safetensors", "--out", newest, "--json"});
  ASSERT_EQ(other.exit_code, 0) << other.err;
  EXPECT_EQ(other.result()["step"], 2);
  EXPECT_TRUE(read(newest) == bytes) << "a learning rate of 0 changes nothing";
}

TEST_F(CliPeer, weights_are_bounded_by_the_number_of_inputs) {
  const std::string directory = run(kOne, 1, {});
  const std::string file = scratch_ / "initial.safetensors";
  ASSERT_EQ(
      cli({"export", directory, "--format", "safetensors", "--step", "0", "--out", file}).exit_code,
      0);
  const std::string bytes = read(file);
  const std::map<std::string, double> inputs{{"0", 784}, {"2", 256}, {"4", 128}};
  const auto tensors = session::read_safetensors(bytes, file).value();
  for (const session::NamedTensor& tensor : tensors) {
    float most = 0;
    for (std::size_t i = 0; i < tensor.data.size(); i += 4) {
      float value = 0;
      std::memcpy(&value, tensor.data.data() + i, 4);
      most = std::max(most, std::abs(value));
    }
    const double bound = 1 / std::sqrt(inputs.at(tensor.name.substr(0, 1)));
    EXPECT_LE(most, bound * (1 + 1e-6)) << tensor.name;
    EXPECT_GT(most, bound / 2) << tensor.name;
  }
}

TEST_F(CliPeer, weights_of_parts_are_exported_as_full_tensors) {
  const std::string directory = run(example("two_devices_model_parallel_digits"), 3, {});
  const std::string file = scratch_ / "newest.safetensors";
  ASSERT_EQ(
      cli({"export", directory, "--format", "safetensors", "--step", "3", "--out", file}).exit_code,
      0);
  const std::string bytes = read(file);
  for (const std::string& name : names_of(session::read_safetensors(bytes, file).value()))
    EXPECT_EQ(name.find('['), std::string::npos) << name;
}

TEST_F(CliPeer, refuses_weights_of_other_steps_and_steps_of_other_formats) {
  const std::string directory = run(kOne, 2, {});
  const std::string file = scratch_ / "out";
  const Ran other =
      cli({"export", directory, "--format", "safetensors", "--step", "1", "--out", file, "--json"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.problems(), ElementsAre(Pair("no_weights_of_step", "--step")));
  const Ran csv =
      cli({"export", directory, "--format", "csv", "--step", "1", "--out", file, "--json"});
  EXPECT_EQ(csv.exit_code, 2);
  EXPECT_THAT(csv.problems(), ElementsAre(Pair("conflicting_options", "--step")));
  EXPECT_FALSE(fs::exists(file));
}

// Two ranks, two micro-steps of 16 samples per rank. An epoch of 150 samples has two full steps and
// a step of 22 samples, 11 per rank.
TEST_F(CliPeer, order_of_samples_equals_the_sampler_of_the_run) {
  const std::string order = scratch_ / "order.csv";
  const std::string directory =
      run(kMirrored, 7,
          {"topology.hosts[0].devices[2].role=idle", "topology.hosts[0].devices[3].role=idle",
           "training.batch_per_rank=16", "training.accumulation_steps=2", "data.train_samples=150"},
          {"--dump-order", order});
  const auto e = session::read_resolved(directory).value();
  ASSERT_EQ(e.world(), 2);
  ASSERT_EQ(e.tail_samples, 22);
  auto sampler = experiment::sampler(e).value();
  std::string expected = "step,micro_step,rank,position,sample\n";
  for (int step = 0; step < 7; ++step)
    for (int micro = 0; micro < 2; ++micro)
      for (int rank = 0; rank < 2; ++rank) {
        const auto samples = sampler.indices(step, rank);
        for (std::ptrdiff_t i = 16 * micro;
             i < std::min<std::ptrdiff_t>(std::ssize(samples), 16 * (micro + 1)); ++i)
          expected += std::to_string(step) + "," + std::to_string(micro) + "," +
                      std::to_string(rank) + "," + std::to_string(i - 16 * micro) + "," +
                      std::to_string(samples[static_cast<std::size_t>(i)]) + "\n";
      }
  EXPECT_TRUE(read(order) == expected) << read(order).substr(0, 400);
}

// The server assigns each step to one worker.
TEST_F(CliPeer, order_of_an_asynchronous_run_has_each_step_once) {
  const std::string order = scratch_ / "order.csv";
  run(kServed, 20, {"data.train_samples=640"}, {"--dump-order", order});
  std::istringstream lines(read(order));
  std::map<std::string, std::set<std::string>> ranks;  // by step
  std::set<std::string> samples;
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "step,micro_step,rank,position,sample");
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::string step, micro, rank, position, sample;
    for (std::string* cell : {&step, &micro, &rank, &position, &sample})
      std::getline(cells, *cell, ',');
    ranks[step].insert(rank);
    samples.insert(sample);
  }
  EXPECT_EQ(ranks.size(), 20u);
  for (const auto& [step, taken_by] : ranks) EXPECT_EQ(taken_by.size(), 1u) << step;
  EXPECT_EQ(samples.size(), 640u) << "20 steps of 32 samples are an epoch";
}

TEST_F(CliPeer, order_into_a_missing_directory_is_refused_before_training) {
  const std::string directory = scratch_ / "refused";
  const Ran ran = cli({"run", kOne, "--steps", "1", "--out", directory, "--json", "--dump-order",
                       scratch_ / "missing" / "order.csv"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("missing_directory", "--dump-order")));
  EXPECT_FALSE(fs::exists(directory));
}

}  // namespace
}  // namespace trainyard::process
