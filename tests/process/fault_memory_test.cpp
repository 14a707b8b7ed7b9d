// SPDX-License-Identifier: GPL-3.0-or-later
// More memory than there is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_program.h"

namespace trainyard::process {
namespace {

// Sanitizers would end the process instead.
constexpr const char* kMayFail =
    "export ASAN_OPTIONS=allocator_may_return_null=1 TSAN_OPTIONS=allocator_may_return_null=1;";

class Memory : public testing::TestWithParam<std::string> {};

TEST_P(Memory, that_a_model_cannot_allocate_fails_the_run_with_the_size) {
  const Home home;
  std::vector<std::string> overrides{"model.layers[0].units=1000000",
                                     "model.layers[2].units=1000000"};  // 4 TB a copy
  for (const char* device : {"0", "1", "2", "3"})
    overrides.push_back(std::string("topology.hosts[0].devices[") + device +
                        "].memory_bytes=1e15");  // as drawn
  if (GetParam() == "one_device_digits") overrides.resize(3);
  RunProgram run(home, short_run(example(GetParam()), 3, overrides), kMayFail);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.problems(),
              testing::ElementsAre(testing::Pair("out_of_memory", testing::StartsWith("rank "))));
  EXPECT_THAT(ran.result()["problem"]["what"].get<std::string>(),
              testing::ContainsRegex("[0-9] TB"));
  EXPECT_EQ(ran.result()["status"], "failed");
}

INSTANTIATE_TEST_SUITE_P(Faults, Memory,
                         testing::Values("one_device_digits", "four_devices_mirrored_digits"));

}  // namespace
}  // namespace trainyard::process
