// SPDX-License-Identifier: GPL-3.0-or-later
// Gloo under real runs: the same training, what it does not report is not shown, and who dies is
// named.
#include "core/experiment/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/json.h"
#include "core/session/checkpoint/checkpoint.h"
#include "core/telemetry/history.h"
#include "examples.h"
#include "run_program.h"
#include "trained_weights.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

const std::string kGloo = "strategy.engine=gloo";

class Engine : public testing::Test {
 protected:
  void SetUp() override {
    if (experiment::built_engines().size() < 2) GTEST_SKIP() << "Gloo is not in this build";
  }
};

// Parameters, then running statistics.
std::vector<double> weights_and_statistics(const Json& result) {
  const std::filesystem::path directory = result["run_directory"].get<std::string>();
  const auto resolved =
      experiment::resolved_from_json(Json::parse(read(directory / "resolved.json"))).value();
  const std::int64_t parameters = resolved.model.elements, state = resolved.model.state_elements;
  std::vector<float> values(static_cast<std::size_t>(parameters + state));
  const compute::Tensor of_parameters{
      base::DType::fp32, {parameters}, reinterpret_cast<std::byte*>(values.data())};
  const compute::Tensor of_state{
      base::DType::fp32, {state}, reinterpret_cast<std::byte*>(values.data() + parameters)};
  const auto info =
      session::read_checkpoint(directory / "checkpoints", resolved.model,
                               {of_parameters, state > 0 ? of_state : compute::Tensor{}});
  EXPECT_TRUE(info) << (info ? "" : base::to_string(info.error()));
  return {values.begin(), values.end()};
}

TEST_F(Engine, gloo_trains_like_own_collectives) {
  const Home home;
  for (const std::string strategy : {"mirrored", "ddp"}) {
    const Json own = completed(short_run(kMirrored, 20, {"strategy.kind=" + strategy})),
               gloo = completed(short_run(kMirrored, 20, {"strategy.kind=" + strategy, kGloo}));
    const double apart = distance(weights_and_statistics(gloo), weights_and_statistics(own));
    EXPECT_LE(apart, 1e-5) << strategy;
    EXPECT_NEAR(gloo["train_loss"].get<double>(), own["train_loss"].get<double>(), 1e-4);
    EXPECT_EQ(own["engine"], "own");
    EXPECT_EQ(gloo["engine"], "gloo");
    for (const Json& rank : gloo["ranks"])
      EXPECT_EQ(rank["parameters_xxh64"], gloo["ranks"][0]["parameters_xxh64"])
          << "bit-identical replicas";
  }
}

// Its sums are all-reduced in fp64, over a group of their own.
TEST_F(Engine, gloo_synchronizes_batch_normalization) {
  const Home home;
  const std::string layers = R"(model.layers=[{"kind": "linear", "units": 32}, )"
                             R"({"kind": "batch_norm", "synchronized": true}, {"kind": "relu"}, )"
                             R"({"kind": "linear", "units": 0}])";
  const Json own = completed(short_run(kMirrored, 20, {layers})),
             gloo = completed(short_run(kMirrored, 20, {layers, kGloo}));
  EXPECT_LE(distance(weights_and_statistics(gloo), weights_and_statistics(own)), 1e-4);
  for (const Json& rank : gloo["ranks"])
    EXPECT_EQ(rank["parameters_xxh64"], gloo["ranks"][0]["parameters_xxh64"])
        << "bit-identical replicas";
}

TEST_F(Engine, that_reports_no_bytes_shows_none) {
  const Home home;
  const Json result = completed(short_run(kMirrored, 5, {kGloo}));
  EXPECT_TRUE(result["wire_bytes"].is_null());
  EXPECT_TRUE(telemetry::History::load(result["run_directory"].get<std::string>())
                  .value()
                  .chunk_values()
                  .empty())
      << "the engine does not split its collectives";
  for (const Json& rank : result["ranks"])
    EXPECT_TRUE(rank["sent_bytes"].is_null() && rank["received_bytes"].is_null());
  EXPECT_THAT(
      cli({"run", kMirrored, "--steps", "5", "--set", "data.train_samples=512", "--set", kGloo})
          .out,
      testing::ContainsRegex("\n  sent +[^\n]*gloo\n"));
  const Json by_gloo = cli({"check", kMirrored, "--set", kGloo, "--json"}).result(),
             by_own = cli({"check", kMirrored, "--json"}).result();
  std::int64_t formula = 0, by_ring = 0;
  for (const Json& rank : by_gloo["ranks"]) {
    EXPECT_TRUE(rank["sent_bytes"].is_null());
    formula += rank["engine_bytes"].get<std::int64_t>();
  }
  for (const Json& rank : by_own["ranks"]) {
    EXPECT_FALSE(rank.contains("engine_bytes"));
    by_ring += rank["sent_bytes"].get<std::int64_t>();
  }
  EXPECT_NEAR(static_cast<double>(formula), static_cast<double>(by_ring), 64)
      << "except for rounding";
  EXPECT_GT(by_ring, 1'000'000);
  EXPECT_THAT(cli({"check", kMirrored, "--set", kGloo}).out, HasSubstr("\ngloo "));
  EXPECT_TRUE(
      cli({"simulate", kMirrored, "--set", kGloo, "--json"}).result()["wire_bytes"].is_null());
  EXPECT_THAT(cli({"simulate", kMirrored, "--set", kGloo}).out, HasSubstr("gloo"));
}

TEST_F(Engine, joins_ranks_in_threads_and_hosts_with_addresses) {
  const Home home;
  EXPECT_EQ(completed(short_run(kMirrored, 5, {kGloo, "run.transport=inproc"}))["steps"], 5);
  EXPECT_EQ(
      completed(short_run(example("four_hosts_ring_digits"), 5,
                          {kGloo, "topology.hosts[0].address=localhost",
                           "topology.hosts[1].address=127.0.0.1", "run.transport=auto"}))["steps"],
      5);
}

TEST_F(Engine, names_a_killed_rank_and_ends_the_run) {
  for (const int rank : {0, 2}) {
    const Home home;
    RunProgram run(home, endless_run(kMirrored, {kGloo}));
    ASSERT_TRUE(run.wait_for_step(5));
    const auto ranks = run.ranks();
    ASSERT_EQ(ranks.size(), 4u);
    ::kill(ranks[static_cast<std::size_t>(rank)].pid, SIGKILL);
    const Ran ran = run.wait();
    for (const RankProcess& left : ranks)
      EXPECT_TRUE(wait_until_gone(left.pid, promised)) << "rank " << left.rank << " was left";
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_THAT(ran.problems(),
                ElementsAre(Pair("rank_died", StartsWith("rank " + std::to_string(rank) + " "))))
        << ran.err;
  }
}

TEST_F(Engine, ends_the_run_if_a_rank_is_suspended_while_others_wait_in_gloo) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored, {kGloo}));
  ASSERT_TRUE(run.wait_for_step(5));
  const auto ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 4u);
  ::kill(ranks[1].pid, SIGSTOP);
  const Ran ran = run.wait();
  for (const RankProcess& left : ranks)
    EXPECT_TRUE(wait_until_gone(left.pid, promised)) << "rank " << left.rank << " was left";
  EXPECT_THAT(ran.problems(), ElementsAre(Pair("rank_unresponsive", StartsWith("rank 1 "))));
}

TEST_F(Engine, plan_is_coarse_and_proved) {
  const Ran plan = cli({"plan", kMirrored, "--set", kGloo, "--expand"});
  EXPECT_THAT(plan.out, AllOf(HasSubstr("gloo.g0"), testing::Not(HasSubstr("SEND"))));
  const Ran check = cli({"check", kMirrored, "--set", kGloo});
  EXPECT_EQ(check.exit_code, 0) << check.err;
  EXPECT_THAT(check.out, AllOf(HasSubstr("proved: meaning"), HasSubstr("\ngloo ")));
  EXPECT_TRUE(cli({"check", kMirrored, "--set", kGloo, "--json"})
                  .result()["ranks"][0]["sent_bytes"]
                  .is_null());
}

TEST_F(Engine, is_measured_by_bench) {
  for (const std::string reduction : {"sum", "mean", "min", "max"})
    for (const std::string transport : {"shm", "inproc"}) {
      const Ran ran =
          cli({"bench", "allreduce", "--ranks", "3", "--bytes", "40004", "--engine", "gloo",
               "--reduction", reduction, "--transport", transport, "--repeat", "3", "--json"});
      ASSERT_EQ(ran.exit_code, 0) << ran.err;
      EXPECT_EQ(ran.result()["engine"], "gloo");
      EXPECT_EQ(ran.result()["transport"], "tcp");
      EXPECT_TRUE(ran.result()["wire_bytes_per_rank"].is_null());
      EXPECT_GT(ran.result()["algorithm_bandwidth_bytes_per_second"].get<double>(), 0);
    }
  const Ran refused = cli({"bench", "allreduce", "--ranks", "2", "--bytes", "4", "--engine", "gloo",
                           "--algorithm", "star", "--transport", "zmq", "--json"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.problems(), ElementsAre(Pair("option_not_supported", "--algorithm"),
                                              Pair("option_not_supported", "--transport")));
}

TEST(BenchReduction, of_own_collectives_is_verified) {
  for (const std::string reduction : {"mean", "min", "max"})
    for (const std::string algorithm : {"ring", "direct", "double_binary_tree"}) {
      const Ran ran =
          cli({"bench", "allreduce", "--ranks", "3", "--bytes", "40004", "--bucket-bytes", "9000",
               "--algorithm", algorithm, "--reduction", reduction, "--repeat", "2", "--json"});
      ASSERT_EQ(ran.exit_code, 0) << ran.err;
      EXPECT_EQ(ran.result()["reduction"], reduction);
    }
}

}  // namespace
}  // namespace trainyard::process
