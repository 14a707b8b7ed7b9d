// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/socket_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <thread>

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;

class SocketDirectoryTest : public testing::Test {
 protected:
  SocketDirectoryTest() {
    std::string name = "/tmp/trainyard-sockets-XXXXXX";
    root_ = ::mkdtemp(name.data());
    ::setenv("XDG_RUNTIME_DIR", root_.c_str(), 1);
  }
  ~SocketDirectoryTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  fs::path root_;
};

bool is_gone(const fs::path& path) {
  for (int i = 0; i < 500 && fs::exists(path); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !fs::exists(path);
}

TEST_F(SocketDirectoryTest, is_private_and_removed_with_its_owner) {
  fs::path path;
  {
    const auto directory = SocketDirectory::make();
    ASSERT_TRUE(directory);
    path = directory->path();
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    std::ofstream(path / "socket") << "x";
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

// Forks. The child makes a directory, calls `then` and waits to be killed.
template <class Then>
pid_t start_owner(const Then& then) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    const auto directory = SocketDirectory::make();
    then(directory->path());
    if (::write(ends[1], "ready", 5) != 5) ::_exit(1);
    for (;;) ::pause();
  }
  std::array<char, 5> ready{};
  EXPECT_EQ(::read(ends[0], ready.data(), ready.size()), 5);
  for (const int end : ends) ::close(end);
  return owner;
}

void kill_and_reap(pid_t process) {
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
}

TEST_F(SocketDirectoryTest, is_removed_when_its_process_is_killed) {
  const pid_t owner =
      start_owner([](const fs::path& path) { std::ofstream(path / "socket") << "x"; });
  const fs::path path = fs::directory_iterator(root_ / "trainyard")->path();
  ASSERT_TRUE(fs::exists(path / "socket"));
  kill_and_reap(owner);
  EXPECT_TRUE(is_gone(path));
}

// Ranks end a moment after their coordinator.
TEST_F(SocketDirectoryTest, is_removed_while_others_create_sockets_in_it) {
  const pid_t owner = start_owner([](const fs::path&) {});
  const fs::path path = fs::directory_iterator(root_ / "trainyard")->path();
  const pid_t rank = ::fork();
  if (rank == 0)
    for (int i = 0;; i = (i + 1) % 1000)
      std::ofstream(path / ("socket" + std::to_string(i))) << "x";
  for (int i = 0; i < 500 && !fs::exists(path / "socket100"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill_and_reap(owner);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill_and_reap(rank);
  EXPECT_TRUE(is_gone(path));
}

// A kill leaves nothing behind at any time.
TEST_F(SocketDirectoryTest, is_removed_whenever_its_process_is_killed) {
  const fs::path sockets = root_ / "trainyard";
  for (int trial = 0; trial < 100; ++trial) {
    const pid_t owner = ::fork();
    if (owner == 0) {
      const auto directory = SocketDirectory::make();
      for (;;) ::pause();
    }
    ::usleep(static_cast<useconds_t>(trial * 20));
    kill_and_reap(owner);
    const auto is_empty = [&] { return !fs::exists(sockets) || fs::is_empty(sockets); };
    for (int i = 0; i < 500 && !is_empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(is_empty()) << "killed after " << trial * 20 << " us";
  }
}

TEST_F(SocketDirectoryTest, knows_whether_its_owner_runs) {
  EXPECT_FALSE(SocketDirectory::in_use(root_ / "nowhere"));
  const auto directory = SocketDirectory::make();
  ASSERT_TRUE(directory);
  EXPECT_TRUE(SocketDirectory::in_use(directory->path()));
  // A crash of a machine leaves the directory and the sockets in it, but no lock.
  const fs::path stale = root_ / "trainyard" / "run-999999999-abcdef";
  fs::create_directories(stale);
  std::ofstream(stale / "control") << "x";
  EXPECT_FALSE(SocketDirectory::in_use(stale));
  EXPECT_FALSE(fs::exists(stale)) << "stale sockets are removed";
  EXPECT_FALSE(SocketDirectory::in_use(root_)) << "a directory of another kind";
  EXPECT_TRUE(fs::exists(root_)) << "is not removed";
}

TEST_F(SocketDirectoryTest, reports_a_dead_cleanup_process) {
  const auto directory = SocketDirectory::make();
  ASSERT_TRUE(directory);
  EXPECT_TRUE(directory->has_cleanup());
  std::ifstream children("/proc/self/task/" + std::to_string(::gettid()) + "/children");
  pid_t child = 0;
  ASSERT_TRUE(children >> child);
  ::kill(child, SIGKILL);
  for (int i = 0; i < 500 && directory->has_cleanup(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(directory->has_cleanup());
}

TEST_F(SocketDirectoryTest, cleanup_process_removes_unfinished_files_of_the_run) {
  const fs::path run = root_ / "run";
  fs::create_directories(run / "checkpoints" / "step-1");
  const pid_t owner = start_owner([](const fs::path&) {});
  kill_and_reap(owner);
  const std::string unfinished = "manifest.json.new-" + std::to_string(owner) + "-0";
  const pid_t other = ::fork();
  if (other == 0) {
    const auto directory = SocketDirectory::make();
    directory->clean_also(run);
    std::ofstream(run / "checkpoints" / "step-1" / unfinished) << "x";
    std::ofstream(run / "checkpoints" / "kept.new-file") << "x";
    for (;;) ::pause();
  }
  for (int i = 0; i < 500 && !fs::exists(run / "checkpoints" / "kept.new-file"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill_and_reap(other);
  EXPECT_TRUE(is_gone(run / "checkpoints" / "step-1" / unfinished));
  EXPECT_TRUE(fs::exists(run / "checkpoints" / "kept.new-file"));
}

// Links of another user, in a directory that all may write to.
TEST_F(SocketDirectoryTest, is_not_created_through_a_symbolic_link) {
  const fs::path elsewhere = root_ / "elsewhere";
  fs::create_directories(elsewhere / "run-999999999-abcdef");
  fs::permissions(elsewhere, fs::perms::owner_all | fs::perms::others_read);
  fs::create_directory_symlink(elsewhere, root_ / "trainyard");
  if (::lchown((root_ / "trainyard").c_str(), 12345, 12345) != 0)
    GTEST_SKIP() << "only root makes links of other users";
  const auto made = SocketDirectory::make();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().where, (root_ / "trainyard").string());
  EXPECT_TRUE(fs::exists(elsewhere / "run-999999999-abcdef"));
  EXPECT_EQ(fs::status(elsewhere).permissions(), fs::perms::owner_all | fs::perms::others_read);
}

TEST_F(SocketDirectoryTest, of_dead_processes_is_removed_and_nothing_else) {
  const fs::path sockets = root_ / "trainyard";
  for (const char* name : {"run-999999999-abcdef", "run-999999999-results", "run-999999999",
                           "run-999999999-abcdeg", "run-0999999999-abcdef", "other"})
    fs::create_directories(sockets / name);
  fs::create_directories(sockets / "run-999999998-abcdef");
  const int held = ::open((sockets / "run-999999998-abcdef").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  const auto made = SocketDirectory::make();
  ASSERT_TRUE(made);
  EXPECT_FALSE(fs::exists(sockets / "run-999999999-abcdef"));
  for (const char* name : {"run-999999999-results", "run-999999999", "run-999999999-abcdeg",
                           "run-0999999999-abcdef", "other"})
    EXPECT_TRUE(fs::exists(sockets / name)) << name;
  EXPECT_TRUE(fs::exists(sockets / "run-999999998-abcdef"))
      << "of a process in another container that holds its lock";
  ::close(held);
}

}  // namespace
}  // namespace trainyard::session
