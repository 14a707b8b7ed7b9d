// SPDX-License-Identifier: GPL-3.0-or-later
// The README's table of roles that may fail, row by row: every role dies and is stopped,
// asynchronous and synchronous.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/session/checkpoint/checkpoint.h"
#include "examples.h"
#include "watched_run.h"

namespace trainyard::process {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

// The id of the problem of a run whose rank received this signal.
const char* id_of(int signal) { return signal == SIGKILL ? "rank_died" : "rank_unresponsive"; }

// A drawing of them all: a chief and two other workers, a server and an evaluator.
enum Rank { chief = 0, worker = 1, server = 3, evaluator = 4 };

struct Row {
  const char* role;
  int rank;
  int signal;
  const char* mode;
  bool goes_on;
};
std::string role_and_mode(const testing::TestParamInfo<Row>& row) {
  return std::string(row.param.role) + (row.param.signal == SIGKILL ? "_killed_" : "_suspended_") +
         row.param.mode;
}
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.role << ", signal " << row.signal << ", " << row.mode;
}

// A message about a lost rank names its step and its op, if any. An evaluator without a checkpoint
// has no op.
void expect_step_and_op(const std::string& message) {
  EXPECT_THAT(message, testing::ContainsRegex(
                           "step [0-9,]+( in op [A-Z]+|, before its first op|, between two ops)"));
  EXPECT_THAT(message, testing::Not(testing::HasSubstr("were stopped"))) << "others may continue";
}

class RoleFailure : public testing::TestWithParam<Row> {
 protected:
  static std::vector<std::string> drawn() {
    return {"topology.hosts[0].devices[0].role=chief",
            "topology.hosts[0].devices[3].role=evaluator",
            std::string("strategy.servers.mode=") + GetParam().mode, "strategy.servers.backups=1",
            "run.checkpoint_every_steps=10"};
  }
  // The ranks present at the end agree, and the lost rank reports nothing.
  static void expect_others_ended_well(const Ran& ran) {
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(ran.result()["status"], "stopped");
    EXPECT_THAT(kinds(ran.result()), ElementsAre("lost " + std::to_string(GetParam().rank)));
    expect_step_and_op(ran.result()["faults"][0]["text"].get<std::string>());
    std::set<std::string> weights;
    for (const int rank : {0, 1, 2})
      if (rank != GetParam().rank)
        weights.insert(
            ran.result()["ranks"][static_cast<std::size_t>(rank)]["parameters_xxh64"].dump());
    EXPECT_EQ(weights.size(), 1u);
    EXPECT_FALSE(weights.contains("null"));
  }
  // The advice names the last committed step, from which the run can resume, and the failed rank.
  static void expect_named_end(const Ran& ran, const std::filesystem::path& directory) {
    EXPECT_EQ(ran.exit_code, 3);
    const base::Json result = ran.result();
    EXPECT_THAT(ran.problems(),
                ElementsAre(Pair(id_of(GetParam().signal),
                                 StartsWith("rank " + std::to_string(GetParam().rank) + " ("))));
    EXPECT_THAT(kinds(result), testing::IsEmpty()) << "no rank was lost without ending the run";
    expect_step_and_op(result["problem"]["what"].get<std::string>());
    const auto newest = session::newest_checkpoint(directory / "checkpoints");
    ASSERT_TRUE(newest) << "it had checkpoints";
    EXPECT_EQ(result["committed_step"], newest->step);
    EXPECT_THAT(result["problem"]["advice"].get<std::string>(),
                HasSubstr("--resume " + directory.string()));
  }
};

constexpr const char *kOutOfStep = "asynchronous", *kInStep = "synchronous";
constexpr const char *kSoftsync = "softsync", *kBounded = "stale_synchronous",
                     *kBackups = "backup_workers";
INSTANTIATE_TEST_SUITE_P(Table, RoleFailure,
                         testing::Values(Row{"chief", chief, SIGKILL, kOutOfStep, true},
                                         Row{"chief", chief, SIGSTOP, kOutOfStep, true},
                                         Row{"chief", chief, SIGKILL, kInStep, false},
                                         Row{"chief", chief, SIGSTOP, kInStep, false},
                                         Row{"worker", worker, SIGKILL, kOutOfStep, true},
                                         Row{"worker", worker, SIGSTOP, kOutOfStep, true},
                                         Row{"worker", worker, SIGKILL, kInStep, false},
                                         Row{"worker", worker, SIGSTOP, kInStep, false},
                                         Row{"worker", worker, SIGKILL, kSoftsync, true},
                                         Row{"worker", worker, SIGSTOP, kSoftsync, true},
                                         Row{"worker", worker, SIGKILL, kBounded, true},
                                         Row{"worker", worker, SIGSTOP, kBounded, true},
                                         Row{"worker", worker, SIGKILL, kBackups, true},
                                         Row{"worker", worker, SIGSTOP, kBackups, true},
                                         Row{"server", server, SIGKILL, kOutOfStep, false},
                                         Row{"server", server, SIGSTOP, kOutOfStep, false},
                                         Row{"server", server, SIGKILL, kInStep, false},
                                         Row{"server", server, SIGSTOP, kInStep, false},
                                         Row{"evaluator", evaluator, SIGKILL, kOutOfStep, true},
                                         Row{"evaluator", evaluator, SIGSTOP, kOutOfStep, true},
                                         Row{"evaluator", evaluator, SIGKILL, kInStep, true},
                                         Row{"evaluator", evaluator, SIGSTOP, kInStep, true}),
                         role_and_mode);

TEST_P(RoleFailure, has_the_documented_effect) {
  const Row& row = GetParam();
  const Home home;
  Watched run(home, kServed, drawn());
  ASSERT_TRUE(run.trains());
  ASSERT_TRUE(wait_until(
      30, [&] { return session::newest_checkpoint(run.directory() / "checkpoints").has_value(); }));
  const pid_t victim = run.process(row.rank);
  run.harm(row.rank, row.signal);
  const std::int64_t harmed_ns = now_ns();
  if (row.goes_on) {
    EXPECT_TRUE(run.becomes(row.rank, "lost", 2 * promised));
    EXPECT_TRUE(run.goes_on());
    expect_others_ended_well(run.stop());
  } else {
    const Ran ran = run.end();
    EXPECT_LE(static_cast<double>(now_ns() - harmed_ns) * 1e-9, 2 * promised);
    expect_named_end(ran, run.directory());
  }
  EXPECT_TRUE(wait_until_gone(victim, promised)) << "it stays stopped";
}

// The first row: strategies in which no rank can replace another. For mirrored, fault_rank_test.cpp
// tests every rank.
struct Drawing {
  const char *strategy, *example;
  int rank;
};
class RankFailure : public testing::TestWithParam<std::tuple<Drawing, int>> {};
INSTANTIATE_TEST_SUITE_P(
    Table, RankFailure,
    testing::Combine(
        testing::Values(Drawing{"one_device", "one_device_digits", 0},
                        Drawing{"multi_worker_mirrored", "four_hosts_ring_digits", 2},
                        Drawing{"ddp", "four_devices_mirrored_digits", 1},
                        Drawing{"tpu", "eight_tpus_torus_digits", 5},
                        Drawing{"central_storage", "central_storage_digits", 0},
                        Drawing{"data_parallel", "four_devices_data_parallel_digits", 0},
                        Drawing{"gossip", "eight_devices_gossip_digits", 3},
                        Drawing{"gossip", "eight_devices_asynchronous_gossip_digits", 2},
                        Drawing{"gossip", "eight_devices_asynchronous_gossip_digits", 5},
                        Drawing{"local_sgd", "four_devices_local_sgd_digits", 2},
                        Drawing{"model_parallel", "two_devices_model_parallel_digits", 1},
                        Drawing{"pipeline", "two_devices_model_parallel_digits", 1},
                        Drawing{"fsdp", "four_devices_mirrored_digits", 3},
                        Drawing{"tensor_parallel", "four_devices_mirrored_digits", 2},
                        Drawing{"hybrid", "four_devices_mirrored_digits", 3},
                        Drawing{"rpc", "two_trainers_rpc_clicks", 1},
                        Drawing{"rpc", "two_trainers_rpc_clicks", 2}),
        testing::Values(SIGKILL, SIGSTOP)),
    [](const auto& row) {
      const Drawing& drawing = std::get<0>(row.param);
      return std::string(drawing.strategy) + "_" + std::to_string(drawing.rank) +
             (std::get<1>(row.param) == SIGKILL ? "_killed" : "_suspended");
    });

TEST_P(RankFailure, ends_the_run_and_names_the_rank) {
  const auto& [drawing, signal] = GetParam();
  const Home home;
  RunProgram run(home, endless_run(example(drawing.example),
                                   {std::string("strategy.kind=") + drawing.strategy}));
  ASSERT_TRUE(run.wait_for_step(5));
  const auto ranks = run.ranks();
  ASSERT_GT(ranks.at(static_cast<std::size_t>(drawing.rank)).pid, 1);
  ::kill(ranks[static_cast<std::size_t>(drawing.rank)].pid, signal);
  const std::int64_t harmed_ns = now_ns();
  const Ran ran = run.wait();
  EXPECT_LE(static_cast<double>(now_ns() - harmed_ns) * 1e-9, 2 * promised);
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(
      ran.problems(),
      ElementsAre(Pair(id_of(signal), StartsWith("rank " + std::to_string(drawing.rank) + " ("))))
      << ran.err;
  expect_step_and_op(ran.result()["problem"]["what"].get<std::string>());
  for (const RankProcess& left : ranks)
    EXPECT_TRUE(wait_until_gone(left.pid, promised)) << "rank " << left.rank << " was left";
}

}  // namespace
}  // namespace trainyard::process
