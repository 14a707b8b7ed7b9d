// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that die, are stopped or hang: the run ends by itself, soon, names the rank, its step and
// its op, and leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/telemetry/recording.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using testing::ContainsRegex;

std::string named(int rank) {
  return "rank " + std::to_string(rank) + " (host0/cpu" + std::to_string(rank) + ")";
}

std::string on(const std::string& transport) { return "run.transport=" + transport; }

// The end of a run of four in which `harm` is done to one of them, in the midst of training.
template <class Harm>
Ran end_after(const Home& home, int rank, const std::vector<std::string>& overrides,
              const Harm& harm) {
  RunProgram run(home, endless_run(kMirrored, overrides));
  if (!run.wait_for_step(5)) return {};
  const auto ranks = run.ranks();
  EXPECT_EQ(ranks.size(), 4u);
  if (ranks.size() != 4) return {};
  const std::int64_t begin = now_ns();
  harm(ranks[static_cast<std::size_t>(rank)].pid);
  const Ran ran = run.wait();
  EXPECT_LE(base::seconds(now_ns() - begin), promised);
  for (const RankProcess& left : ranks)
    EXPECT_TRUE(wait_until_gone(left.pid, promised)) << "rank " << left.rank << " was left";
  EXPECT_TRUE(std::filesystem::is_empty(home.sockets()));
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.result()["status"], "failed");
  EXPECT_EQ(ran.result()["problem"]["where"], named(rank)) << ran.err;
  EXPECT_NE(ran.result()["problem"]["advice"], "") << "what to do";
  return ran;
}

// The problem has this id and says at which step and op the rank was.
void expect_id_step_and_op(const Ran& ran, const std::string& id) {
  EXPECT_EQ(ran.result()["problem"]["id"], id) << ran.err;
  EXPECT_THAT(ran.result()["problem"]["what"].get<std::string>(),
              ContainsRegex("step [0-9,]+( in op [A-Z]+|, between two ops)"));
}

using RankAndTransport = std::tuple<int, const char*>;
std::string transport_and_rank(const testing::TestParamInfo<RankAndTransport>& row) {
  return std::string(std::get<1>(row.param)) + "_rank_" + std::to_string(std::get<0>(row.param));
}

class EachRank : public testing::TestWithParam<RankAndTransport> {};

TEST_P(EachRank, that_is_killed_is_reported_with_step_and_op) {
  const auto& [rank, transport] = GetParam();
  const Home home;
  const Ran ran = end_after(home, rank, {on(transport)}, [](pid_t pid) { ::kill(pid, SIGKILL); });
  expect_id_step_and_op(ran, "rank_died");
  const std::filesystem::path logs = ran.result()["run_directory"].get<std::string>() + "/logs";
  EXPECT_THAT(read(logs / ("rank-" + std::to_string(rank) + ".log")),
              ContainsRegex("process [0-9]+, software"))
      << "the message contains this path";
}

TEST_P(EachRank, that_is_suspended_is_reported_with_step_and_op) {
  const auto& [rank, transport] = GetParam();
  const Home home;
  const Ran ran = end_after(home, rank, {on(transport)}, [](pid_t pid) { ::kill(pid, SIGSTOP); });
  expect_id_step_and_op(ran, "rank_unresponsive");
}

INSTANTIATE_TEST_SUITE_P(Faults, EachRank,
                         testing::Combine(testing::Range(0, 4), testing::Values("shm", "zmq")),
                         transport_and_rank);

// Milliseconds from the kill to the moment at which the coordinator gave the run up, as it recorded
// that.
double noticed_after(int rank) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored));
  if (!run.wait_for_step(5)) return -1;
  const auto ranks = run.ranks();
  const std::int64_t killed_ns = now_ns();
  ::kill(ranks.at(static_cast<std::size_t>(rank)).pid, SIGKILL);
  run.wait();
  auto recording =
      telemetry::RecordingReader::open(run.run_directory() / telemetry::kRecordingFile);
  if (!recording) return -1;
  for (auto frame = recording->next(); frame && *frame; frame = recording->next()) {
    if ((*frame)->type != telemetry::FrameType::state) continue;
    const auto bytes = (*frame)->payload;
    const base::Json state =
        base::Json::parse(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    if (state["state"] == "failed")
      return 1e-6 * static_cast<double>(state["time_ns"].get<std::int64_t>() - killed_ns);
  }
  return -1;
}

// Half of them: on a busy machine a coordinator may have to wait for its turn.
TEST(Faults, death_of_a_rank_is_detected_within_a_tenth_of_a_second) {
  std::vector<double> after;
  for (int trial = 0; trial < 9; ++trial) after.push_back(noticed_after(trial % 4));
  std::ranges::sort(after);
  EXPECT_GE(after[0], 0) << "a run did not complete";
  EXPECT_LE(after[4], 100) << testing::PrintToString(after);
}

// Holds the main thread of a process, and no other, until the process ends. False: it may not.
bool hold_main_thread(pid_t pid, std::thread& holder) {
  std::atomic<int> held{-1};
  holder = std::thread([pid, &held] {
    const bool can = ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 &&
                     ::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) == 0;
    int status = 0;
    const bool stopped = can && ::waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);
    held = stopped ? 1 : 0;
    while (stopped && ::waitpid(pid, &status, __WALL) == pid && !WIFEXITED(status) &&
           !WIFSIGNALED(status)) {
    }
  });
  while (held < 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return held == 1;
}

class EachTransport : public testing::TestWithParam<const char*> {};

// Its heart beats on: only that nothing is done any more gives it away.
TEST_P(EachTransport, reports_a_rank_that_hangs) {
  const Home home;
  std::thread holder;
  bool held = false;
  const Ran ran = end_after(home, 2, {on(GetParam()), "run.hang_seconds=2"}, [&](pid_t pid) {
    held = hold_main_thread(pid, holder);
    if (!held) ::kill(pid, SIGKILL);
  });
  holder.join();
  if (!held) GTEST_SKIP() << "no process may hold another here";
  expect_id_step_and_op(ran, "run_hung");
}

INSTANTIATE_TEST_SUITE_P(Faults, EachTransport, testing::Values("shm", "zmq"));

// A rank may hang before it has connected to the coordinator.
TEST(Faults, rank_that_hangs_while_it_starts_is_noticed) {
  for (int trial = 0; trial < 3; ++trial) {
    const Home home;
    RunProgram run(home, endless_run(kMirrored));
    ASSERT_TRUE(wait_until(promised, [&] { return !run.ranks().empty(); }));
    const RankProcess first = run.ranks().front();
    ::kill(first.pid, SIGSTOP);
    const std::int64_t begin = now_ns();
    const Ran ran = run.wait();
    EXPECT_LE(base::seconds(now_ns() - begin), 2 * promised);
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_EQ(ran.result()["problem"]["id"], "rank_unresponsive") << ran.err;
    EXPECT_EQ(ran.result()["problem"]["where"], named(first.rank));
    EXPECT_TRUE(wait_until_gone(first.pid, promised));
  }
}

TEST(Faults, short_suspension_of_a_rank_is_no_failure) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored));
  ASSERT_TRUE(run.wait_for_step(5));
  const auto ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 4u);
  for (int i = 0; i < 2; ++i) {
    ::kill(ranks[1].pid, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
    ::kill(ranks[1].pid, SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  run.signal(SIGINT);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 130) << ran.err;
}

// Twice as many busy loops as cores, and four times as many ranks: slow, but no rank is dead.
TEST(Faults, starving_ranks_are_no_failure) {
  const Home home;
  base::Json e = expanded_document(kMirrored);
  auto& devices = e["topology"]["hosts"][0]["devices"];
  for (int r = 4; r < 8; ++r)
    devices.push_back(devices[0]), devices.back()["name"] = "cpu" + std::to_string(r);
  const std::string eight = home.scratch().write("eight.json", e.dump());
  std::atomic<bool> stop{false};
  std::vector<std::thread> load;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i)
    load.emplace_back([&stop] {
      while (!stop) {
      }
    });
  RunProgram run(home, endless_run(eight));
  const bool began = run.wait_for_step(1);
  if (began) std::this_thread::sleep_for(std::chrono::seconds(6));
  run.signal(SIGINT);
  const Ran ran = run.wait();
  stop = true;
  for (std::thread& thread : load) thread.join();
  EXPECT_EQ(ran.exit_code, 130) << ran.err;
}

}  // namespace
}  // namespace trainyard::process
