// SPDX-License-Identifier: GPL-3.0-or-later
// Ports: a run of one machine takes none, whatever its transport, so none that is in use can stop
// it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>

#include "backends/zmq/control.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

namespace fs = std::filesystem;

// Inodes of the sockets of this machine that listen on TCP: state 0A, field 10 (proc(5)).
std::set<std::string> listening() {
  std::set<std::string> inodes;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::istringstream lines(read(table));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      const std::vector<std::string> fields(std::istream_iterator<std::string>{words}, {});
      if (fields.size() >= 10 && fields[3] == "0A") inodes.insert(fields[9]);
    }
  }
  return inodes;
}

std::set<std::string> sockets_of(pid_t pid) {
  const std::string begin = "socket:[";
  std::set<std::string> inodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd", error)) {
    const std::string target = fs::read_symlink(entry.path(), error).string();
    if (target.starts_with(begin))
      inodes.insert(target.substr(begin.size(), target.size() - begin.size() - 1));
  }
  return inodes;
}

std::size_t ports_of(pid_t pid) {
  const auto own = sockets_of(pid), all = listening();
  return static_cast<std::size_t>(std::count_if(
      own.begin(), own.end(), [&](const std::string& inode) { return all.contains(inode); }));
}

class Ports : public testing::TestWithParam<std::string> {};

TEST_P(Ports, are_not_opened_by_any_process_of_a_run) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored, {"run.transport=" + GetParam()}));
  ASSERT_TRUE(run.wait_for_step(1));
  const auto ranks = run.ranks();
  EXPECT_EQ(ranks.size(), 4u);
  for (const RankProcess& rank : ranks) EXPECT_EQ(ports_of(rank.pid), 0u) << "rank " << rank.rank;
  EXPECT_FALSE(sockets_of(run.pid()).empty()) << "its memory is readable";
  EXPECT_EQ(ports_of(run.pid()), 0u);
  run.signal(SIGINT);
  EXPECT_EQ(run.wait().exit_code, 130);
  EXPECT_TRUE(fs::is_empty(home.sockets()));
}

INSTANTIATE_TEST_SUITE_P(Run, Ports, testing::Values("zmq", "shm"),
                         [](const auto& row) { return row.param; });

TEST(TakenPorts, are_detected) {
  const std::size_t before = ports_of(::getpid());
  const auto server = zmq::serve("tcp://127.0.0.1:*", {"a run", 1});
  ASSERT_TRUE(server);
  EXPECT_EQ(ports_of(::getpid()), before + 1);
}

}  // namespace
}  // namespace trainyard::process
