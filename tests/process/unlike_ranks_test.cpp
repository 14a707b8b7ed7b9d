// SPDX-License-Identifier: GPL-3.0-or-later
// central_storage and data_parallel by the programs themselves, over the transports of real runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;

constexpr std::int64_t kFeatures = 784, kClasses = 10;  // of the examples' model
const std::string kCentral = example("central_storage_digits"),
                  kParallel = example("four_devices_data_parallel_digits");

class UnlikeRanks : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Run, UnlikeRanks, testing::Values("shm", "zmq", "inproc"));

TEST_P(UnlikeRanks, central_storage_sends_what_the_formula_says_at_both_ends) {
  const Home home;
  const Json result = completed(short_run(kCentral, 25, {"run.transport=" + GetParam()}));
  const std::int64_t s = 4 * kElements, n = 3, steps = 25;
  EXPECT_EQ(result["wire_bytes"]["payload"], n * s + steps * 2 * n * s);
  for (const Json& rank : result["ranks"]) {
    const bool stores = rank["rank"] == 0;
    EXPECT_EQ(rank["role"], stores ? "storage" : "worker");
    EXPECT_EQ(rank["emulated"], !stores);
    EXPECT_EQ(rank["sent_bytes"], stores ? n * s * (steps + 1) : s * steps);
    EXPECT_EQ(rank["received_bytes"], stores ? n * s * steps : s * (steps + 1));
    EXPECT_EQ(rank["parameters_xxh64"], result["ranks"][0]["parameters_xxh64"]);
  }
  EXPECT_EQ(result["staleness"]["max"], 0);
}

TEST_P(UnlikeRanks, data_parallel_sends_what_the_formula_says_at_both_ends) {
  const Home home;
  const Json result = completed(short_run(kParallel, 25, {"run.transport=" + GetParam()}));
  const std::int64_t s = 4 * kElements, steps = 25,
                     rows = result["samples"].get<std::int64_t>() / 4;
  ASSERT_EQ(result["samples"], 4 * rows) << "all ranks have had as many";
  const std::int64_t out = steps * s + 4 * rows * (kFeatures + kClasses),
                     back = steps * s + 4 * rows * kClasses;  // to and from each other rank
  EXPECT_EQ(result["wire_bytes"]["payload"], 3 * (out + back));
  for (const Json& rank : result["ranks"]) {
    const bool first = rank["rank"] == 0;
    EXPECT_EQ(rank["sent_bytes"], first ? 3 * out : back);
    EXPECT_EQ(rank["received_bytes"], first ? 3 * back : out);
    EXPECT_EQ(rank["parameters_xxh64"].is_null(), !first) << "replicas are made anew at every step";
  }
}

TEST(UnlikeRanks, are_told_from_workers_in_the_terminal) {
  EXPECT_THAT(cli({"list", "strategies"}).out,
              testing::AllOf(HasSubstr("central_storage"), HasSubstr("data_parallel")));
  for (const std::string& experiment : {kCentral, kParallel}) {
    EXPECT_EQ(cli({"check", experiment}).exit_code, 0);
    EXPECT_EQ(cli({"simulate", experiment}).exit_code, 0);
  }
  const Ran none = cli({"validate", kMirrored, "--set", "strategy.kind=central_storage"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err,
              testing::AllOf(HasSubstr("4 workers are cpus"), HasSubstr("one cpu beside")));
}

TEST(UnlikeRanks, learn_the_same_with_imposed_links_and_paced_devices) {
  const Home home;
  for (const std::string& experiment : {kCentral, kParallel}) {
    const Json plain = completed(short_run(experiment, 10, {})),
               held_back = completed(short_run(experiment, 10,
                                               {"run.links=imposed", "run.devices=paced",
                                                "topology.hosts[0].devices[1].slow_down=2"}));
    EXPECT_EQ(held_back["links"], "imposed");
    EXPECT_EQ(held_back["devices"], "paced");
    EXPECT_EQ(held_back["wire_bytes"]["payload"], plain["wire_bytes"]["payload"]);
    EXPECT_FALSE(plain["ranks"][0]["parameters_xxh64"].is_null());
    EXPECT_EQ(held_back["ranks"][0]["parameters_xxh64"], plain["ranks"][0]["parameters_xxh64"]);
  }
}

}  // namespace
}  // namespace trainyard::process
