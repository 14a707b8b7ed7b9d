// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks and coordinators that die, hang or are in the way: every run ends by itself, with one clear message, and leaves nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/base/clock.h"
#include "core/telemetry/history.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

const std::string kFour = example("four_devices_mirrored_digits");

double seconds_since(std::int64_t begin_ns) { return base::seconds(now_ns() - begin_ns); }

std::string named(int rank) { return "rank " + std::to_string(rank) + " (cpu" + std::to_string(rank) + " on host0)"; }

void expect_gone(const std::vector<RankProcess>& ranks) {
  for (const RankProcess& rank : ranks) EXPECT_TRUE(wait_until_gone(rank.pid, 5)) << "rank " << rank.rank << " was left";
}

// No files of shared memory: what ranks share has no name.
std::size_t shared_memory_files() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    count += entry.path().filename().string().find("trainyard") != std::string::npos ? 1 : 0;
  return count;
}

class EachRank : public testing::TestWithParam<int> {};

TEST_P(EachRank, that_is_killed_ends_the_run_by_name) {
  const Home home;
  RunProgram run(home, endless_run(kFour));
  ASSERT_TRUE(run.wait_for_step(5));
  const auto ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 4u);
  const std::int64_t begin = now_ns();
  ::kill(ranks[static_cast<std::size_t>(GetParam())].pid, SIGKILL);
  const Ran ran = run.wait();
  EXPECT_LE(seconds_since(begin), 5);
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr(named(GetParam())), HasSubstr("signal 9 (Killed)"), HasSubstr("at step "), HasSubstr("in op ")));
  EXPECT_EQ(ran.result()["status"], "failed");
  expect_gone(ranks);
  EXPECT_TRUE(std::filesystem::is_empty(home.sockets()));
}

INSTANTIATE_TEST_SUITE_P(Faults, EachRank, testing::Range(0, 4));

class EachTransport : public testing::TestWithParam<const char*> {};

TEST_P(EachTransport, tells_of_a_rank_that_stands_still) {
  const Home home;
  RunProgram run(home, endless_run(kFour, {std::string("run.transport=") + GetParam()}));
  ASSERT_TRUE(run.wait_for_step(5));
  const auto ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 4u);
  const std::int64_t begin = now_ns();
  ::kill(ranks[2].pid, SIGSTOP);
  const Ran ran = run.wait();
  EXPECT_LE(seconds_since(begin), 5);
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr(named(2)), HasSubstr("does not answer"), HasSubstr("in op ")));
  expect_gone(ranks);
}

INSTANTIATE_TEST_SUITE_P(Faults, EachTransport, testing::Values("shm", "zmq"));

TEST(Faults, a_rank_killed_while_sockets_carry_the_data_is_named) {
  const Home home;
  RunProgram run(home, endless_run(kFour, {"run.transport=zmq"}));
  ASSERT_TRUE(run.wait_for_step(5));
  const auto ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 4u);
  ::kill(ranks[3].pid, SIGKILL);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr(named(3)), HasSubstr("signal 9 (Killed)")));
  expect_gone(ranks);
}

TEST(Faults, a_rank_that_pauses_for_a_moment_is_not_dead) {
  const Home home;
  RunProgram run(home, endless_run(kFour));
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

TEST(Faults, a_coordinator_that_pauses_blames_nobody) {
  const Home home;
  RunProgram run(home, endless_run(kFour));
  ASSERT_TRUE(run.wait_for_step(5));
  run.signal(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  run.signal(SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  run.signal(SIGINT);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 130) << ran.err;
}

TEST(Faults, a_killed_coordinator_leaves_no_rank_and_its_sockets_go_at_the_next_start) {
  const Home home;
  std::vector<RankProcess> ranks;
  {
    RunProgram run(home, endless_run(kFour, {"run.transport=zmq"}));
    ASSERT_TRUE(run.wait_for_step(5));
    ranks = run.ranks();
    ASSERT_EQ(ranks.size(), 4u);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the recording goes to disk every 50 ms
    run.signal(SIGKILL);
    EXPECT_EQ(run.wait().exit_code, 128 + SIGKILL);
    expect_gone(ranks);
  }
  const auto history = telemetry::History::load(std::filesystem::directory_iterator(home.runs())->path());
  ASSERT_TRUE(history);
  EXPECT_GE(history->train_loss().size(), 5u) << "what was recorded stays";
  EXPECT_EQ(cli(short_run(kFour, 2)).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(home.sockets()));
  EXPECT_EQ(shared_memory_files(), 0u);
}

TEST(Faults, two_coordinators_at_once_do_not_disturb_each_other) {
  const Home home;
  RunProgram first(home, short_run(kFour, 60)), second(home, short_run(kFour, 60));
  const Ran one = first.wait(), two = second.wait();
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(two.exit_code, 0) << two.err;
  const auto a = one.result(), b = two.result();
  EXPECT_NE(a["run_directory"], b["run_directory"]);
  EXPECT_EQ(a["ranks"][0]["parameters_xxh64"], b["ranks"][3]["parameters_xxh64"]);
}

// Twice as many busy loops as cores, and four times as many ranks: slow, but nobody is dead.
TEST(Faults, ranks_that_starve_are_not_dead) {
  const Home home;
  base::Json e = base::Json::parse(read(kFour));
  auto& devices = e["topology"]["hosts"][0]["devices"];
  for (int r = 4; r < 8; ++r) devices.push_back(devices[0]), devices.back()["name"] = "cpu" + std::to_string(r);
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

// As a disk quota says it. (In memory shared by processes, too, so ranks are threads here.)
TEST(Faults, a_recording_that_cannot_grow_ends_the_run_and_keeps_what_was_recorded) {
  const Home home;
  RunProgram run(home, endless_run(kFour, {"run.transport=inproc"}), "ulimit -f 2000;");  // KiB a file
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("recording.try"), HasSubstr("File too large"), HasSubstr("Free space")));
  const auto history = telemetry::History::load(run.run_directory());
  ASSERT_TRUE(history);
  EXPECT_EQ(history->damage(), "");
  EXPECT_GE(history->train_loss().size(), 10u);
}

TEST(Faults, a_full_disk_ends_the_run_and_keeps_what_was_recorded) {
  const Home home;
  if (shell("unshare --mount true").exit_code != 0) GTEST_SKIP() << "only root may mount a small disk";
  const std::string disk = home / "disk", kept = home / "kept";
  std::string run = "mkdir -p " + disk + " " + kept + " && mount -t tmpfs -o size=1500k none " + disk + " && $CLI";
  auto arguments = endless_run(kFour);
  arguments.insert(arguments.end(), {"--out", disk + "/run"});
  for (const std::string& argument : arguments) run += " '" + argument + "'";
  const Ran ran = shell("unshare --mount bash -c \"" + run + "; code=\\$?; cp -r " + disk + "/run " + kept + "; exit \\$code\"");
  EXPECT_EQ(ran.exit_code, 3) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("No space left on device"), HasSubstr("Free space")));
  const auto history = telemetry::History::load(kept + "/run");
  ASSERT_TRUE(history);
  EXPECT_EQ(history->damage(), "");
  EXPECT_GE(history->train_loss().size(), 10u);
}

TEST(Faults, a_disk_that_fills_up_during_the_checkpoint_says_so) {
  const Home home;
  RunProgram run(home, short_run(kFour, 3, {"run.transport=zmq"}), "ulimit -f 300;");  // the weights need 919 KiB
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("checkpoint"), HasSubstr("File too large")));
}

TEST(Faults, a_reader_of_the_output_that_goes_away_does_not_end_the_run) {
  const Home home;
  const std::filesystem::path out = home / "run";
  auto arguments = short_run(kFour, 400);
  arguments.insert(arguments.end(), {"--out", out.string()});
  RunProgram run(home, arguments, "exec > >(head -n 1 > /dev/null);");
  EXPECT_EQ(run.wait().exit_code, 0);
  EXPECT_EQ(base::Json::parse(read(out / "result.json"))["status"], "completed");
}

struct Place {
  const char* name;
  std::function<std::string(const Home&)> out;
  const char* told;
};

class BadPlace : public testing::TestWithParam<Place> {};

TEST_P(BadPlace, for_a_run_is_refused) {
  const Home home;
  auto arguments = short_run(kFour, 3);
  arguments.insert(arguments.end(), {"--out", GetParam().out(home)});
  const Ran ran = cli(arguments);
  EXPECT_THAT(ran.exit_code, AnyOf(2, 3)) << ran.err;
  EXPECT_THAT(ran.err, AllOf(HasSubstr("error: "), HasSubstr(GetParam().told)));
}

INSTANTIATE_TEST_SUITE_P(Faults, BadPlace,
                         testing::Values(Place{"a_file", [](const Home& home) { return home.scratch().write("file", "text"); }, "cannot make this directory"},
                                         Place{"below_a_file", [](const Home& home) { return home.scratch().write("file", "text") + "/run"; },
                                               "cannot make this directory"},
                                         Place{"read_only", [](const Home&) { return std::string("/proc/trainyard/run"); }, "/proc/trainyard"},
                                         Place{"holds_a_run",
                                               [](const Home& home) {
                                                 std::filesystem::create_directories(home / "old");
                                                 return std::filesystem::path(home.scratch().write("old/recording.try", "x")).parent_path().string();
                                               },
                                               "holds a run already"}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Faults, a_directory_for_sockets_that_is_too_deep_is_told) {
  const Home home;
  ::setenv("XDG_RUNTIME_DIR", (home / std::string(90, 'd')).c_str(), 1);
  const Ran ran = cli(short_run(kFour, 2));
  EXPECT_THAT(ran.exit_code, AnyOf(2, 3));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("bytes long"), HasSubstr("up to 107 bytes"), HasSubstr("XDG_RUNTIME_DIR")));
}

TEST(Faults, a_rank_started_by_hand_ends_with_a_word) {
  const Ran bare = shell("exec " TRAINYARD_BIN_DIR "/trainyard-rank");
  EXPECT_NE(bare.exit_code, 0);
  EXPECT_THAT(bare.err, HasSubstr("--rank"));
  const Ran orphan = shell("exec " TRAINYARD_BIN_DIR "/trainyard-rank --rank 0 --endpoint ipc:///tmp/none --parent 1");
  EXPECT_EQ(orphan.exit_code, 2);
  EXPECT_THAT(orphan.err, HasSubstr("trainyard-cli run"));
  const Ran endpoint = shell("exec " TRAINYARD_BIN_DIR "/trainyard-rank --rank 0 --endpoint nonsense --parent $PPID");
  EXPECT_EQ(endpoint.exit_code, 2);
  EXPECT_THAT(endpoint.err, HasSubstr("nonsense"));
}

}  // namespace
}  // namespace trainyard::process
