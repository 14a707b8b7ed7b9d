// SPDX-License-Identifier: GPL-3.0-or-later
// The strategy tpu by the programs themselves, over the transports of real runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/collective/algorithm.h"
#include "examples.h"
#include "run_program.h"
#include "trained_weights.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kTpus = example("eight_tpus_torus_digits");
const std::vector<std::int64_t> kBuckets = {
    1290 + 32'896,
    200'960};  // elements, in buckets of about 100 KB: the last two layers, and the first
constexpr int kRows = 2, kColumns = 4;

// Bytes that a rank sends of a bucket (ORACLES): along its row all shares except its own and the
// next, twice; of its share the same along its column.
std::int64_t torus_bytes(std::int64_t elements, int rank) {
  const int n = kRows * kColumns, row = rank / kColumns, column = rank % kColumns;
  const auto chunk = [&](int c) { return 4 * collective::part(elements, n, c).second; };
  const auto share = [&](int of) {
    return chunk(of % kColumns * kRows) + chunk(of % kColumns * kRows + 1);
  };
  const std::int64_t along_row = 2 * 4 * elements - share(column) - share(column + 1);
  const std::int64_t along_column =
      2 * share(column) - chunk(column * kRows + row) - chunk(column * kRows + (row + 1) % kRows);
  return along_row + along_column;
}

class Tpus : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Run, Tpus, testing::Values("shm", "zmq", "inproc"));

TEST_P(Tpus, send_what_the_formula_of_the_torus_says_and_stay_alike) {
  const Home home;
  constexpr std::int64_t steps = 12;
  const Json result = completed(short_run(kTpus, steps, {"run.transport=" + GetParam()}));
  std::int64_t total = 0;
  for (const Json& rank : result["ranks"]) {
    std::int64_t bytes = 0;
    for (const std::int64_t elements : kBuckets)
      bytes += torus_bytes(elements, rank["rank"].get<int>());
    EXPECT_EQ(rank["sent_bytes"], steps * bytes) << rank["rank"];
    EXPECT_EQ(rank["emulated"], true);
    EXPECT_EQ(rank["parameters_xxh64"], result["ranks"][0]["parameters_xxh64"]);
    total += steps * bytes;
  }
  EXPECT_EQ(total, steps * 2 * 7 * 4 * (kBuckets[0] + kBuckets[1]))
      << "2 (n - 1) S, whatever the torus";
  EXPECT_EQ(result["wire_bytes"]["payload"], total);
  EXPECT_EQ(result["multiplies"], "bfloat16");
}

// Sums in fp32, in another order on every side: now and then a number falls on another side of a
// tie.
TEST(Tpus, equal_one_device_in_the_same_precision_and_not_in_full) {
  const Home home;
  const auto alone = [](const std::string& multiplies) {
    return trained_weights(completed(short_run(
        kOne, 100, {"training.batch_per_rank=128", "training.multiplies=" + multiplies})));
  };
  const auto rounded = alone("bfloat16"), full = alone("full");
  std::vector<std::string> idle;  // a torus of 2 x 2
  for (int device = 4; device < 8; ++device)
    idle.push_back("topology.hosts[0].devices[" + std::to_string(device) + "].role=idle");
  idle.emplace_back("training.batch_per_rank=32");
  const auto four = trained_weights(completed(short_run(kTpus, 100, idle)));
  EXPECT_LE(distance(four, rounded), 1e-2);
  EXPECT_LT(distance(four, rounded), distance(full, rounded)) << "measured 1.5e-3 and 4.2e-3";
}

TEST(Tpus, learn_to_tell_digits_apart) {
  const Home home;
  const Json result =
      completed({"run", kTpus, "--json", "--steps", "250", "--set", "data.held_out_samples=500"});
  EXPECT_GT(result["held_out_accuracy"].get<double>(), 0.9);
}

TEST(Tpus, are_said_to_be_emulated_wherever_a_time_is_said) {
  const Home home;
  const std::string speed = "8 of 8 devices run on the CPU, whose speed says nothing about a TPU";
  const Ran ran = cli({"run", kTpus, "--steps", "2", "--out", (home / "run").string()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("note: EMULATED: " + speed));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("EMULATED            " + speed),
                             HasSubstr("multiplies          bfloat16")));
  EXPECT_THAT(cli({"replay", (home / "run").string()}).out, HasSubstr("EMULATED: " + speed));
  EXPECT_THAT(cli({"validate", kTpus}).out,
              AllOf(HasSubstr("note: EMULATED: " + speed), HasSubstr("bfloat16 multiplies")));
  EXPECT_THAT(cli({"list", "strategies"}).out, HasSubstr("EMULATED on CPU cores"));
  EXPECT_THAT(cli({"validate", kMirrored}).out,
              AllOf(Not(HasSubstr("EMULATED")), Not(HasSubstr("bfloat16"))));
}

TEST(Tpus, are_proved_and_simulated_and_say_their_torus) {
  EXPECT_EQ(cli({"check", kTpus}).exit_code, 0);
  EXPECT_EQ(cli({"simulate", kTpus}).exit_code, 0);
  EXPECT_THAT(cli({"validate", kTpus, "--set", "strategy.algorithm=auto"}).out,
              HasSubstr("auto is torus: tpu sums gradients along the rows and columns"));
}

TEST(Tpus, are_asked_for_where_there_are_none) {
  const Ran refused = cli({"validate", kMirrored, "--set", "strategy.kind=tpu"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("cpu0 (cpu) and 3 others are not TPUs"),
                                 HasSubstr("Drag TPUs from the palette"),
                                 HasSubstr("ring is not how TPUs sum")));
  const Ran full = cli({"validate", kTpus, "--set", "training.multiplies=full"});
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_THAT(full.err, HasSubstr("training.multiplies"));
}

TEST(Tpus, in_bfloat16_learn_another_than_in_full_precision) {
  const Home home;
  const auto hash = [](const std::string& multiplies) {
    return completed(short_run(
        kMirrored, 5, {"training.multiplies=" + multiplies}))["ranks"][0]["parameters_xxh64"];
  };
  EXPECT_EQ(hash("auto"), hash("full"));
  EXPECT_NE(hash("bfloat16"), hash("full"));
}

}  // namespace
}  // namespace trainyard::process
