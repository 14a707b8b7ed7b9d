// SPDX-License-Identifier: GPL-3.0-or-later
// parameter_server by the programs themselves, over the transports of real runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::HasSubstr;

class ParameterServer : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Run, ParameterServer, testing::Values("shm", "zmq", "inproc"));

// 200 rounds push S each, and every worker is answered once more at its end; a turn is 32 bytes,
// and what asks or leaves 8.
TEST_P(ParameterServer, asynchronous_sends_what_the_formula_says_and_all_end_alike) {
  const Home home;
  const Json result = completed(short_run(kServed, 200, {"run.transport=" + GetParam()}));
  const std::int64_t s = 4 * kElements;
  EXPECT_EQ(result["steps"], 200);
  EXPECT_EQ(result["samples"],
            completed(short_run(kOne, 200, {"training.batch_per_rank=32"}))["samples"])
      << "each batch once";
  EXPECT_EQ(result["wire_bytes"]["payload"], 200 * s + (200 + 4) * (s + 32) + 4 * 16);
  for (const Json& rank : result["ranks"]) {
    const bool serves = rank["rank"] == 4;
    EXPECT_EQ(rank["role"], serves ? "parameter_server" : "worker");
    EXPECT_EQ(rank["parameters_xxh64"].is_null(), serves) << "a server has a share";
    if (!serves) {
      EXPECT_EQ(rank["parameters_xxh64"], result["ranks"][0]["parameters_xxh64"]);
    }
  }
  EXPECT_TRUE(result["held_out_accuracy"].is_number())
      << "the last parameters are measured, however far off the next evaluation was";
  EXPECT_GT(result["staleness"]["mean"], 0.5);
  EXPECT_GE(result["staleness"]["max"], result["staleness"]["p95"]);
}

// Momentum is allowed, because synchronous training uses that of one device.
TEST(ParameterServer, synchronous_trains_as_mirrored_does) {
  const Home home;
  const std::vector<std::string> both{"training.precision=fp64", "training.optimizer.momentum=0.9"};
  std::vector<std::string> is_lockstep = both;
  is_lockstep.emplace_back("strategy.servers.mode=synchronous");
  const Json served = completed(short_run(kServed, 60, is_lockstep)),
             mirrored = completed(short_run(kMirrored, 60, both));
  EXPECT_EQ(served["samples"], mirrored["samples"]);
  EXPECT_NEAR(served["train_loss"].get<double>(), mirrored["train_loss"].get<double>(), 1e-9);
  EXPECT_EQ(served["held_out_accuracy"], mirrored["held_out_accuracy"]);
  EXPECT_EQ(served["staleness"]["max"], 0);
}

// Every update is of three gradients of 32 samples; what else was computed trained nothing, and is
// said apart.
TEST(ParameterServer, backup_workers_drop_what_comes_late) {
  for (const std::string clock : {"machine", "virtual"}) {
    const Home home;
    const Json result = completed(short_run(
        kServed, 60,
        {"strategy.servers.mode=backup_workers", "topology.hosts[0].devices[0].slow_down=20",
         "strategy.servers.backups=1", "data.train_samples=1024", "run.clock=" + clock}));
    EXPECT_EQ(result["steps"], 60);
    EXPECT_EQ(result["staleness"]["max"], 0);
    ASSERT_GT(result["dropped_gradients"], 0) << clock;
    EXPECT_EQ(result["samples"], 60 * 3 * 32) << clock;
    EXPECT_EQ(result["dropped_samples"], 32 * result["dropped_gradients"].get<std::int64_t>())
        << clock;
  }
}

// The drawing and the seed determine the order: the bytes of a real run, and reproducible weights.
TEST(ParameterServer, on_the_virtual_clock_a_run_is_the_same_again) {
  const Home home;
  const std::vector<std::string> settings{"run.clock=virtual",
                                          "topology.hosts[0].devices[1].slow_down=5",
                                          "topology.hosts[0].devices[2].jitter=0.5"};
  const Json result = completed(short_run(kServed, 200, settings)),
             again = completed(short_run(kServed, 200, settings));
  const std::int64_t s = 4 * kElements;
  EXPECT_EQ(result["clock"], "virtual");
  EXPECT_EQ(result["steps"], 200);
  EXPECT_EQ(result["wire_bytes"]["payload"], 200 * s + (200 + 4) * (s + 32) + 4 * 16);
  for (std::size_t worker = 0; worker < 4; ++worker) {
    EXPECT_EQ(result["ranks"][worker]["parameters_xxh64"], again["ranks"][0]["parameters_xxh64"]);
  }
  EXPECT_EQ(result["staleness"], again["staleness"]);
  EXPECT_EQ(result["train_loss"], again["train_loss"]);
}

// Zhang et al. 2016: gradients that are so stale do not train by a learning rate that fresh ones
// would; divided by their staleness it does.
TEST(ParameterServer, a_learning_rate_that_fails_when_stale_trains_divided_by_staleness) {
  const Home home;
  const std::string stale = example("thirty_two_virtual_workers_digits");
  const Json fixed = completed({"run", stale, "--json"}),
             divided = completed(
                 {"run", stale, "--json", "--set", "strategy.servers.staleness_rate=divided"});
  EXPECT_NEAR(fixed["staleness"]["mean"].get<double>(), 31, 0.62);
  EXPECT_EQ(divided["staleness"], fixed["staleness"]) << "the same order";
  EXPECT_LT(fixed["held_out_accuracy"], 0.2) << "no better than a guess";
  EXPECT_GT(divided["held_out_accuracy"], 0.9);
}

TEST_P(ParameterServer, what_its_servers_did_computes_it_again) {
  const Home home;
  const Json result = completed(short_run(kServed, 200, {"run.transport=" + GetParam()}));
  const std::string directory = result["run_directory"].get<std::string>();
  const Ran again = cli({"replay", directory, "--recompute", "--json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.result()["gradients"], 200);
  EXPECT_EQ(again.result()["parameters_xxh64"], result["ranks"][0]["parameters_xxh64"]);
  const Ran none =
      cli({"replay", completed(short_run(kOne, 5, {}))["run_directory"].get<std::string>(),
           "--recompute"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("neither parameter servers"));
}

TEST(ParameterServer, a_run_says_how_stale_it_was) {
  const Home home;
  std::vector<std::string> arguments = short_run(kServed, 40, {"run.clock=virtual"});
  const Json result = completed(arguments);  // on the virtual clock it is the same run
  std::erase(arguments, "--json");
  const Ran ran = cli(arguments);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NEAR(result["staleness"]["mean"], (0 + 1 + 2 + 37 * 3) / 40.0, 1e-9)
      << "all four pull at first; from then on three come between";
  EXPECT_THAT(ran.out, HasSubstr("staleness           2.85 in the mean, p95 3, at most " +
                                 std::to_string(result["staleness"]["max"].get<int>())));
}

TEST(ParameterServer, a_run_is_replayed_with_its_staleness) {
  const Home home;
  const Json result = completed(short_run(kServed, 100, {}));
  const Ran replayed = cli({"replay", result["run_directory"].get<std::string>(), "--json"});
  ASSERT_EQ(replayed.exit_code, 0) << replayed.err;
  EXPECT_EQ(replayed.result()["staleness"], result["staleness"]);
}

// Real servers keep what they gave each worker, and those that compute it again have it of the
// workers.
TEST(ParameterServer, compensated_for_delay_a_run_is_computed_again_to_the_bit) {
  const Home home;
  for (const std::string transport : {"shm", "zmq"})
    for (const std::string mode : {"asynchronous", "softsync"}) {
      const std::vector<std::string> settings{"run.transport=" + transport,
                                              "strategy.servers.mode=" + mode,
                                              "strategy.servers.softsync=2"};
      auto compensated = settings;
      compensated.emplace_back("strategy.servers.delay_compensation=5");
      const Json result = completed(short_run(kServed, 120, compensated));
      ASSERT_GT(result["staleness"]["mean"], 0);
      const std::string directory = result["run_directory"];
      const Ran again = cli({"replay", directory, "--recompute", "--json"});
      ASSERT_EQ(again.exit_code, 0) << again.err;
      EXPECT_EQ(again.result()["parameters_xxh64"], result["ranks"][0]["parameters_xxh64"]);
    }
}

TEST(ParameterServer, variables_lie_where_they_are_put_by_hand) {
  const Home home;
  const std::vector<std::string> settings{"strategy.servers.mode=synchronous",
                                          "topology.hosts[0].devices[3].role=parameter_server"};
  const auto by_hand = [&](const std::string& places) {
    auto all = settings;
    all.insert(all.end(),
               {"strategy.servers.placement=by_hand", "strategy.servers.places=" + places});
    return all;
  };
  const Json balanced = completed(short_run(kServed, 20, settings));
  const Json first = completed(short_run(
      kServed, 20,
      by_hand(R"([{"variable":"0.weight","server":1},{"variable":"0.bias","server":1}])")));
  EXPECT_EQ(first["ranks"][0]["parameters_xxh64"], balanced["ranks"][0]["parameters_xxh64"])
      << "where they lie changes nothing";
  EXPECT_GT(first["ranks"][4]["sent_bytes"].get<double>(),
            2 * first["ranks"][3]["sent_bytes"].get<double>())
      << "the first layer is most of it";
  const Ran unknown = cli(
      {"validate", kServed, "--set", "strategy.servers.placement=by_hand", "--set",
       R"(strategy.servers.places=[{"variable":"9.weight","server":0},{"variable":"0.bias","server":4}])"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("the model has no variable \"9.weight\""));
  EXPECT_THAT(unknown.err, HasSubstr("0.bias is to lie on number 4"));
}

TEST(ParameterServer, a_server_that_would_be_out_of_memory_is_refused_before_anything_starts) {
  const std::vector<std::string> small{"--set",
                                       "topology.hosts[0].devices[4].memory_bytes=2000000"};
  for (const std::string verb : {"validate", "run"}) {
    const Home home;
    std::vector<std::string> arguments{verb, kServed};
    arguments.insert(arguments.end(), small.begin(), small.end());
    const Ran ran = cli(arguments);
    EXPECT_EQ(ran.exit_code, 2) << verb;
    EXPECT_THAT(
        ran.err,
        HasSubstr("server (rank 4, parameter_server) would run out of memory: its buffers need "));
    EXPECT_THAT(ran.err, HasSubstr("topology.hosts[0].devices[4].memory_bytes"));
  }
}

TEST(ParameterServer, its_plan_is_proved_and_what_it_cannot_do_is_said) {
  const Ran checked = cli({"check", kServed});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("proved: serving"));
  const Ran simulated = cli({"simulate", kServed, "--json", "--steps", "400"});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_NEAR(simulated.result()["mean_staleness"].get<double>(), 3, 0.1)
      << "workers of one speed take turns";
  EXPECT_GT(simulated.result()["predicted"]["samples_per_second"], 0);
  const Ran alone = cli({"validate", kServed, "--set", "topology.hosts[0].devices[4].role=idle"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.err, HasSubstr("no device has the role parameter_server"));
}

}  // namespace
}  // namespace trainyard::process
