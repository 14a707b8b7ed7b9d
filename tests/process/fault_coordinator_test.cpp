// SPDX-License-Identifier: GPL-3.0-or-later
// Coordinators that die, pause, or are not alone.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "core/base/json.h"
#include "core/telemetry/history.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;

// The memfd of a run has no name; those who map it say its number.
std::set<std::string> shared_memory_of(const fs::path& process) {
  std::set<std::string> numbers;
  std::ifstream maps(process / "maps");
  std::string range, access, offset, device, number, name;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    fields >> range >> access >> offset >> device >> number >> name;
    if (fields && name.starts_with("/memfd:trainyard")) numbers.insert(number);
  }
  return numbers;
}

bool is_mapped(const std::set<std::string>& memory) {
  for (const auto& process : fs::directory_iterator("/proc"))
    for (const std::string& number : shared_memory_of(process.path()))
      if (memory.contains(number)) return true;
  return false;
}

class KilledCoordinator : public testing::TestWithParam<const char*> {};

TEST_P(KilledCoordinator, leaves_its_recording_but_no_process_socket_or_shared_memory) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored, {std::string("run.transport=") + GetParam()}));
  ASSERT_TRUE(run.wait_for_step(5));
  const auto ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 4u);
  EXPECT_FALSE(fs::is_empty(home.sockets()));
  const auto memory = shared_memory_of("/proc/" + std::to_string(ranks[0].pid));
  EXPECT_EQ(memory.size(), GetParam() == std::string("shm") ? 1u : 0u);
  EXPECT_EQ(is_mapped(memory), !memory.empty());
  std::this_thread::sleep_for(
      std::chrono::milliseconds(300));  // the recording goes to disk every 50 ms
  run.signal(SIGKILL);
  EXPECT_EQ(run.wait().exit_code, 128 + SIGKILL);
  for (const RankProcess& rank : ranks)
    EXPECT_TRUE(wait_until_gone(rank.pid, promised)) << "rank " << rank.rank << " was left";
  EXPECT_TRUE(wait_until(promised, [&] { return fs::is_empty(home.sockets()); }))
      << "sockets were left";
  EXPECT_FALSE(is_mapped(memory));
  const auto history = telemetry::History::load(fs::directory_iterator(home.runs())->path());
  ASSERT_TRUE(history) << base::to_string(history.error());
  EXPECT_GE(history->train_loss().size(), 5u) << "the recording is kept";
}

INSTANTIATE_TEST_SUITE_P(Faults, KilledCoordinator, testing::Values("shm", "zmq"));

// A stopped process hears no request to leave.
TEST(Faults, killed_coordinator_leaves_no_rank_even_a_suspended_one) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored));
  ASSERT_TRUE(run.wait_for_step(5));
  const auto ranks = run.ranks();
  ASSERT_EQ(ranks.size(), 4u);
  ::kill(ranks[1].pid, SIGSTOP);
  run.signal(SIGKILL);
  EXPECT_EQ(run.wait().exit_code, 128 + SIGKILL);
  for (const RankProcess& rank : ranks)
    EXPECT_TRUE(wait_until_gone(rank.pid, promised)) << "rank " << rank.rank << " was left";
}

TEST(Faults, coordinator_killed_during_the_start_leaves_nothing) {
  for (int trial = 0; trial < 10; ++trial) {
    const Home home;
    RunProgram run(home, endless_run(kMirrored));
    std::this_thread::sleep_for(std::chrono::milliseconds(40 * trial));
    const auto ranks = run.ranks();
    run.signal(SIGKILL);
    EXPECT_EQ(run.wait().exit_code, 128 + SIGKILL);
    for (const RankProcess& rank : ranks)
      EXPECT_TRUE(wait_until_gone(rank.pid, promised)) << "rank " << rank.rank << " was left";
    EXPECT_TRUE(wait_until(promised, [&] {
      return !fs::exists(home.sockets()) || fs::is_empty(home.sockets());
    })) << trial;
  }
}

TEST(Faults, sockets_of_an_older_run_are_removed_at_the_next_start) {
  const Home home;
  const fs::path left = home.sockets() / "run-999999999-abcdef";
  fs::create_directories(left);
  EXPECT_EQ(cli(short_run(kMirrored, 2)).exit_code, 0);
  EXPECT_TRUE(fs::is_empty(home.sockets()));
}

TEST(Faults, suspension_of_the_coordinator_is_no_rank_failure) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored));
  ASSERT_TRUE(run.wait_for_step(5));
  run.signal(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  run.signal(SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  run.signal(SIGINT);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 130) << ran.err;
}

// State of a process in /proc: R, S, T (stopped), ...
char state_of(pid_t process) {
  const std::string status = read("/proc/" + std::to_string(process) + "/stat");
  const auto name_end = status.rfind(')');
  return name_end == std::string::npos ? '?' : status.at(name_end + 2);
}

// Longer than a rank waits for messages of the coordinator.
TEST(Faults, ctrl_z_suspends_the_run_and_fg_continues_it) {
  const Home home;
  RunProgram over_sockets(home, endless_run(kMirrored, {"run.transport=zmq"}));
  ASSERT_TRUE(over_sockets.wait_for_step(5));
  const Home other_home;
  RunProgram on_virtual_clock(other_home, endless_run(kServed, {"run.clock=virtual"}));
  ASSERT_TRUE(on_virtual_clock.wait_for_step(5));
  for (RunProgram* run : {&over_sockets, &on_virtual_clock}) {
    run->signal(SIGTSTP);
    EXPECT_TRUE(wait_until(promised, [&] { return state_of(run->pid()) == 'T'; }));
    for (const RankProcess& rank : run->ranks())
      EXPECT_TRUE(wait_until(promised, [&] { return state_of(rank.pid) == 'T'; })) << rank.rank;
  }
  std::this_thread::sleep_for(std::chrono::seconds(11));
  for (RunProgram* run : {&over_sockets, &on_virtual_clock}) {
    run->signal(SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    for (const RankProcess& rank : run->ranks())
      EXPECT_TRUE(wait_until(promised, [&] { return state_of(rank.pid) != 'T'; })) << rank.rank;
    run->signal(SIGINT);
    const Ran ran = run->wait();
    EXPECT_EQ(ran.exit_code, 130) << ran.err;
  }
}

TEST(Faults, rank_that_the_user_stopped_stays_stopped_after_ctrl_z) {
  const Home home;
  RunProgram run(home, endless_run(kServed));
  ASSERT_TRUE(run.wait_for_step(5));
  session::Ask stall{1, session::Command::stall};
  stall.rank = 1;
  ASSERT_TRUE(run.client()->send(stall));
  const pid_t stalled = run.ranks().at(1).pid;
  ASSERT_TRUE(wait_until(promised, [&] { return state_of(stalled) == 'T'; }));
  run.signal(SIGTSTP);
  ASSERT_TRUE(wait_until(promised, [&] { return state_of(run.pid()) == 'T'; }));
  run.signal(SIGCONT);
  ASSERT_TRUE(wait_until(promised, [&] { return state_of(run.ranks().at(0).pid) != 'T'; }));
  EXPECT_EQ(state_of(stalled), 'T');
  run.signal(SIGINT);
  run.wait();
}

// Strangers of the same user connect to the control socket of a run with few file descriptors.
TEST(Faults, many_connections_do_not_end_a_run) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored), "ulimit -n 256;");
  ASSERT_TRUE(run.wait_for_step(5));
  const std::string path = run.endpoint().substr(std::string("ipc://").size());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  std::vector<int> strangers;
  for (int i = 0; i < 400; ++i) {
    strangers.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    static_cast<void>(
        ::connect(strangers.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_TRUE(lives(run.pid()));
  for (const int fd : strangers) ::close(fd);
  run.signal(SIGINT);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 130) << ran.err;
}

TEST(Faults, two_concurrent_coordinators_are_independent) {
  const Home home;
  RunProgram first(home, short_run(kMirrored, 60)), second(home, short_run(kMirrored, 60));
  const Ran one = first.wait(), two = second.wait();
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(two.exit_code, 0) << two.err;
  const auto a = one.result(), b = two.result();
  EXPECT_NE(a["run_directory"], b["run_directory"]);
  EXPECT_EQ(a["ranks"][0]["parameters_xxh64"], b["ranks"][3]["parameters_xxh64"]);
}

TEST(Faults, reader_of_the_output_that_exits_does_not_end_the_run) {
  const Home home;
  const fs::path out = home / "run";
  auto arguments = short_run(kMirrored, 400);
  arguments.insert(arguments.end(), {"--out", out.string()});
  RunProgram run(home, arguments, "exec > >(head -n 1 > /dev/null);");
  EXPECT_EQ(run.wait().exit_code, 0);
  EXPECT_EQ(base::Json::parse(read(out / "result.json"))["status"], "completed");
}

// A pipe with a name that takes nothing more, until it is emptied.
class FullPipe {
 public:
  explicit FullPipe(const fs::path& path) {
    if (::mkfifo(path.c_str(), 0600) == 0) end_ = ::open(path.c_str(), O_RDWR | O_NONBLOCK);
    while (::write(end_, block_.data(), block_.size()) > 0) continue;
  }
  ~FullPipe() { ::close(end_); }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;
  void empty() {
    while (::read(end_, block_.data(), block_.size()) > 0) continue;
  }

 private:
  int end_ = -1;
  std::array<char, 4096> block_{};
};

// Result of a run whose output is not read; only the last line blocks.
template <class Meanwhile>
base::Json result_of_unread(int steps, int exit_code, const Meanwhile& meanwhile) {
  const Home home;
  FullPipe pipe(home / "pipe");
  const fs::path out = home / "run";
  auto arguments = short_run(kMirrored, steps, {"run.seconds_per_step=0.005"});
  arguments.insert(arguments.end(), {"--out", out.string()});
  RunProgram run(home, arguments, "exec > " + (home / "pipe").string() + ";");
  EXPECT_TRUE(wait_until(60, [&] { return run.ranks().size() == 4; }));
  const auto ranks = run.ranks();
  meanwhile(ranks, out);
  EXPECT_TRUE(wait_until(60, [&] { return fs::exists(out / "result.json"); }))
      << "the coordinator waits for the reader";
  for (const RankProcess& rank : ranks)
    EXPECT_TRUE(wait_until_gone(rank.pid, promised)) << "rank " << rank.rank << " was left";
  EXPECT_TRUE(lives(run.pid()));
  EXPECT_TRUE(wait_until(promised, [&] { return pipe.empty(), !lives(run.pid()); }));
  EXPECT_EQ(run.wait().exit_code, exit_code);
  return base::Json::parse(read(out / "result.json"));
}

TEST(Faults, reader_of_the_output_that_is_suspended_does_not_delay_ranks) {
  EXPECT_EQ(result_of_unread(200, 0, [](const auto&...) {})["status"], "completed");
}

TEST(Faults, reader_of_the_output_that_is_suspended_keeps_no_rank_alive) {
  const auto result = result_of_unread(
      1'000'000, 3, [](const std::vector<RankProcess>& ranks, const fs::path& out) {
        std::error_code none;
        EXPECT_TRUE(wait_until(60, [&] {
          return fs::file_size(out / "recording.try", none) > 50'000 && !none;
        })) << "they train";
        ::kill(ranks.at(1).pid, SIGSTOP);
      });
  EXPECT_EQ(result["status"], "failed");
  EXPECT_EQ(result["problem"]["id"], "rank_unresponsive");
  EXPECT_THAT(result["problem"]["where"].get<std::string>(), testing::StartsWith("rank 1"));
}

// The parent process may ignore SIGCHLD, and its children inherit that.
TEST(Faults, exits_of_ranks_are_detected_whatever_the_parent_ignores) {
  const Home home;
  std::string line = "timeout 60 env --ignore-signal=CHLD \"$CLI\"";
  for (const std::string& argument : short_run(kMirrored, 20)) line += " '" + argument + "'";
  const Ran ran = shell(line);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.result()["status"], "completed");
}

}  // namespace
}  // namespace trainyard::process
