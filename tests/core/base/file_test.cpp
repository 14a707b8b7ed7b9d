// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "tests/problem_matchers.h"

namespace trainyard::base {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Files : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }

  std::string content(const std::string& name) const {
    std::ifstream in(directory_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator{}));
  }

  fs::path directory_ =
      fs::temp_directory_path() / ("trainyard-files-" + std::to_string(::getpid()));
};

// Files may grow to `bytes` while this lives: what a full disk does to write().
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~SmallDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(Files, are_read_back_as_written) {
  const std::string bytes("zero \0 and all", 14);
  ASSERT_TRUE(write_file_atomically(directory_ / "a", bytes));
  EXPECT_EQ(read_file(directory_ / "a", 100).value(), bytes);
  ASSERT_TRUE(write_file_atomically(directory_ / "a", ""));
  EXPECT_EQ(read_file(directory_ / "a", 100).value(), "");
  EXPECT_EQ(entries(), 1u);
}

// Programs in a container may have the same process id at every start.
TEST_F(Files, of_a_killed_process_with_the_same_pid_are_ignored) {
  const fs::path path = directory_ / "file";
  for (int count = 0; count < 50; ++count)
    std::ofstream(path.string() + ".new-" + std::to_string(::getpid()) + "-" +
                  std::to_string(count))
        << "left";
  ASSERT_TRUE(write_file_atomically(path, "written"));
  EXPECT_EQ(content("file"), "written");
}

TEST_F(Files, with_relative_names_are_written_to_the_working_directory) {
  const fs::path before = fs::current_path();
  fs::current_path(directory_);
  EXPECT_TRUE(write_file_atomically("plain", "x"));
  fs::current_path(before);
  EXPECT_EQ(content("plain"), "x");
}

TEST_F(Files, keep_the_old_content_and_leave_no_temporary_when_the_disk_is_full) {
  ASSERT_TRUE(write_file_atomically(directory_ / "a", "old"));
  {
    const SmallDisk disk(1000);
    const auto written = write_file_atomically(directory_ / "a", std::string(5000, 'x'));
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error(), IsProblem("file_size_limit", (directory_ / "a").string()));
  }
  EXPECT_EQ(content("a"), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, report_the_path_if_the_directory_takes_no_files) {
  const auto written = write_file_atomically("/proc/trainyard.json", "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().where, "/proc/trainyard.json");
  EXPECT_FALSE(write_file_atomically(directory_ / "missing" / "a", "x"));
}

TEST_F(Files, keep_the_old_content_in_a_read_only_directory) {
  ASSERT_TRUE(write_file_atomically(directory_ / "a", "old"));
  fs::permissions(directory_, fs::perms::owner_read | fs::perms::owner_exec);
  const bool root = ::geteuid() == 0;  // root may write anywhere, so another user tries
  ASSERT_EQ(root ? ::seteuid(65534) : 0, 0);
  const auto written = write_file_atomically(directory_ / "a", "new");
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
  fs::permissions(directory_, fs::perms::owner_all);
  EXPECT_FALSE(written);
  EXPECT_EQ(content("a"), "old");
}

TEST_F(Files, are_not_written_over_a_directory_and_leave_no_temporary) {
  fs::create_directories(directory_ / "a" / "full");
  EXPECT_FALSE(write_file_atomically(directory_ / "a", "x"));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, never_replace_a_path_that_is_not_a_regular_file) {
  ASSERT_EQ(::mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", directory_ / "link");
  for (const char* name : {"pipe", "link"}) {
    const auto written = write_file_atomically(directory_ / name, "x");
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error(), IsProblem("not_a_regular_file", (directory_ / "pipe").string()));
  }
  EXPECT_TRUE(fs::is_fifo(directory_ / "pipe"));
  EXPECT_EQ(entries(), 2u);
}

TEST_F(Files, keep_the_permissions_of_the_old_file) {
  ASSERT_TRUE(write_file_atomically(directory_ / "a", "old"));
  fs::permissions(directory_ / "a", fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write_file_atomically(directory_ / "a", "new"));
  EXPECT_EQ(fs::status(directory_ / "a").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, are_written_through_a_symbolic_link) {
  ASSERT_TRUE(write_file_atomically(directory_ / "real", "old"));
  fs::create_symlink("real", directory_ / "link");
  ASSERT_TRUE(write_file_atomically(directory_ / "link", "new"));
  EXPECT_TRUE(fs::is_symlink(directory_ / "link"));
  EXPECT_EQ(content("real"), "new");
}

TEST_F(Files, over_the_size_limit_are_refused_and_at_the_limit_are_read) {
  ASSERT_TRUE(write_file_atomically(directory_ / "a", "12345"));
  EXPECT_TRUE(read_file(directory_ / "a", 5));
  const auto read = read_file(directory_ / "a", 4);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ProblemCode::bad_input);
  EXPECT_THAT(read.error(), AllOf(IsProblem("file_too_large", (directory_ / "a").string()),
                                  Reports("5"), Accepts("4")));
}

TEST_F(Files, of_the_kernel_without_a_size_are_read_completely) {
  EXPECT_THAT(read_file("/proc/self/status", 1 << 20).value(), HasSubstr("VmSize"));
  EXPECT_FALSE(read_file("/proc/self/status", 10));
}

TEST_F(Files, that_are_missing_or_not_regular_are_problems) {
  const fs::path missing = directory_ / "none";
  EXPECT_THAT(read_file(missing, 5).error(),
              AllOf(IsProblem("missing_file", missing.string()), Reports(std::strerror(ENOENT))));
  EXPECT_THAT(read_file(directory_, 5).error(),
              IsProblem("not_a_regular_file", directory_.string()));
  EXPECT_FALSE(read_file("/dev/zero", 5));
}

TEST_F(Files, that_are_pipes_without_a_writer_are_refused_without_blocking) {
  ASSERT_EQ(::mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(read_file(directory_ / "pipe", 5).error(),
              IsProblem("not_a_regular_file", (directory_ / "pipe").string()));
}

}  // namespace
}  // namespace trainyard::base
