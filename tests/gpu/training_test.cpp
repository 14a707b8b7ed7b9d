// SPDX-License-Identifier: GPL-3.0-or-later
// Whole trainings: a GPU's are those of the CPU, and so are those of both together.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "backends/cpu/cpu.h"
#include "tests/conformance/trained_in_process.h"
#include "tests/gpu/gpus.h"

namespace trainyard::tests {
namespace {

std::unique_ptr<compute::Compute> cpu() { return cpu::make(1).value(); }

// Examples are beside the programs in a bundle.
std::string resources() {
  const char* const text = std::getenv("TRAINYARD_RESOURCES");
  return text != nullptr ? text : TRAINYARD_SOURCE_DIR "/resources";
}

experiment::Resolved example(const std::string& name, const std::vector<std::string>& overrides) {
  const std::string file = resources() + "/experiments/" + name + ".json";
  return experiment::load(file, overrides)
      .and_then([](const experiment::Experiment& e) {
        return experiment::resolve(e, ".").map_error(
            [](const auto& one) { return base::Problems{one}; });
      })
      .value();
}

struct Case {
  std::string name, experiment;
  std::vector<std::string> overrides = {};
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
std::string name_of_case(const testing::TestParamInfo<Case>& row) { return row.param.name; }

class GpuTraining : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (gpu_numbers().empty()) GTEST_SKIP() << base::to_string(cuda::gpus().error());
  }
};

const std::vector<std::string> kOneStep{"data.train_samples=256", "data.held_out_samples=0",
                                        "training.steps=1", "training.batch_per_rank=16"};
std::vector<std::string> one_step(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), kOneStep.begin(), kOneStep.end());
  return overrides;
}

TEST_P(GpuTraining, has_the_gradients_of_the_cpu) {
  const experiment::Resolved e = example(GetParam().experiment, one_step(GetParam().overrides));
  const auto on_cpu = train(e, cpu, in_process);
  for (const int number : gpu_numbers()) {
    const auto on_gpu = train(
        e, [number] { return gpu(number); }, in_process);
    for (std::size_t rank = 0; rank < on_gpu.size(); ++rank) {
      ASSERT_EQ(on_gpu[rank].problem, base::Problem{});
      EXPECT_GT(norm(on_cpu[rank].gradients), 0);
      EXPECT_LE(distance(on_gpu[rank].gradients, on_cpu[rank].gradients), 1e-5)
          << "rank " << rank << " on GPU " << number;
    }
  }
}

const std::vector<Case> kCases{{"mlp", "one_device_digits"},
                               {"cnn", "four_devices_mirrored_cnn_digits"},
                               {"gpt", "two_devices_gpt_grammar"},
                               {"gpt_fsdp", "four_devices_fsdp_gpt_grammar"},
                               {"gpt_tensor_parallel", "four_devices_tensor_parallel_gpt_grammar"},
                               {"wide_and_deep", "four_devices_mirrored_clicks"}};
INSTANTIATE_TEST_SUITE_P(gpu, GpuTraining, testing::ValuesIn(kCases), name_of_case);

// Every second rank on the first GPU.
TEST(GpuAndCpu, train_together_like_cpus) {
  if (gpu_numbers().empty()) GTEST_SKIP() << base::to_string(cuda::gpus().error());
  const experiment::Resolved e =
      example("four_devices_mirrored_digits",
              {"data.train_samples=256", "data.held_out_samples=16", "training.steps=12"});
  std::atomic<int> made = 0;
  const auto together = train(
      e, [&made] { return made++ % 2 == 0 ? gpu(0) : cpu(); }, in_process);
  const auto cpus = train(e, cpu, in_process);
  for (std::size_t rank = 0; rank < together.size(); ++rank) {
    ASSERT_EQ(together[rank].problem, base::Problem{});
    EXPECT_LE(distance(together[rank].parameters, cpus[rank].parameters), 1e-5) << "rank " << rank;
  }
}

}  // namespace
}  // namespace trainyard::tests
