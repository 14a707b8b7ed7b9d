// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/socket_directory.h"

#include <gtest/gtest.h>
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
  for (int i = 0; i < 500 && fs::exists(path); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !fs::exists(path);
}

TEST_F(SocketDirectoryTest, is_ours_alone_and_goes_with_its_owner) {
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

TEST_F(SocketDirectoryTest, goes_when_its_process_is_killed) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    const auto directory = SocketDirectory::make();
    std::ofstream(directory->path() / "socket") << "x";
    if (::write(ends[1], "ready", 5) != 5) ::_exit(1);
    for (;;) ::pause();
  }
  std::array<char, 5> ready{};
  ASSERT_EQ(::read(ends[0], ready.data(), ready.size()), 5);
  const fs::path path = fs::directory_iterator(root_ / "trainyard")->path();
  ASSERT_TRUE(fs::exists(path / "socket"));
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  EXPECT_TRUE(is_gone(path));
}

}  // namespace
}  // namespace trainyard::session
