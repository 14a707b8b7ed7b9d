// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "core/base/file.h"
#include "core/session/system/process_exits.h"

namespace trainyard::session {
namespace {

std::string wait_for_end(Process& process) {
  for (int i = 0; i < 1000; ++i) {
    if (const auto how = process.ended()) return *how;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return "never";
}

std::string scratch(const char* name) {
  return (std::filesystem::temp_directory_path() / (std::string(name) + std::to_string(::getpid())))
      .string();
}

TEST(Process, reports_how_it_ended) {
  auto process = Process::start({"/bin/sh", {"-c", "exit 7"}, "", {}, ""});
  ASSERT_TRUE(process);
  EXPECT_EQ(wait_for_end(*process), "exit status 7");
  EXPECT_FALSE(process->ended_well());
}

TEST(Process, reports_the_name_of_a_signal) {
  auto process = Process::start({"/bin/sleep", {"100"}, "", {}, ""});
  ASSERT_TRUE(process);
  EXPECT_FALSE(process->ended());
  process->kill(SIGKILL);
  EXPECT_EQ(wait_for_end(*process), "signal 9 (Killed)");
}

bool readable(int descriptor, int limit_ms) {
  pollfd item{descriptor, POLLIN, 0};
  return ::poll(&item, 1, limit_ms) == 1;
}

TEST(Process, descriptor_is_readable_after_the_end) {
  auto process = Process::start({"/bin/sleep", {"100"}, "", {}, ""});
  ASSERT_TRUE(process);
  ASSERT_GE(process->descriptor(), 0);
  EXPECT_FALSE(readable(process->descriptor(), 0));
  process->kill(SIGKILL);
  EXPECT_TRUE(readable(process->descriptor(), 10'000));
  wait_for_end(*process);
  EXPECT_EQ(process->descriptor(), -1);
}

TEST(ProcessExits, one_descriptor_reports_each_end_once) {
  ProcessExits exits;
  auto first = Process::start({"/bin/sleep", {"100"}, "", {}, ""});
  auto second = Process::start({"/bin/sleep", {"100"}, "", {}, ""});
  ASSERT_TRUE(first && second);
  for (const Process* process : {&*first, &*second, &*second}) exits.add(process->descriptor());
  exits.add(-1);
  EXPECT_FALSE(readable(exits.descriptor(), 0));
  for (Process* process : {&*first, &*second}) {
    process->kill(SIGKILL);
    EXPECT_TRUE(readable(exits.descriptor(), 10'000));
    exits.clear();
    EXPECT_FALSE(readable(exits.descriptor(), 0));
  }
}

TEST(Process, reads_its_input_and_writes_its_log) {
  const std::string log = scratch("process_test_log");
  auto process =
      Process::start({"/bin/sh", {"-c", "read word; echo got $word"}, log, {}, "secret\n"});
  ASSERT_TRUE(process);
  EXPECT_EQ(wait_for_end(*process), "exit status 0");
  EXPECT_EQ(base::read_file(log, 1000).value(), "got secret\n");
  std::filesystem::remove(log);
}

TEST(Process, reads_an_input_larger_than_a_pipe_buffer) {
  const std::string log = scratch("long_input"), input(300'000, 'x');
  auto process = Process::start({"/bin/sh", {"-c", "sleep 0.1; wc -c"}, log, {}, input});
  ASSERT_TRUE(process) << base::to_string(process.error());
  EXPECT_EQ(wait_for_end(*process), "exit status 0");
  EXPECT_EQ(*base::read_file(log, 100), "300000\n");
  std::filesystem::remove(log);
}

TEST(Process, inherits_the_environment_and_adds_missing_variables) {
  const std::string log = scratch("process_test_environment");
  ::setenv("TRAINYARD_TEST_OURS", "ours", 1);
  auto process = Process::start({"/bin/sh",
                                 {"-c", "echo $TRAINYARD_TEST_OURS $TRAINYARD_TEST_ADDED"},
                                 log,
                                 {},
                                 "",
                                 {"TRAINYARD_TEST_OURS=no", "TRAINYARD_TEST_ADDED=added"}});
  ::unsetenv("TRAINYARD_TEST_OURS");
  ASSERT_TRUE(process);
  wait_for_end(*process);
  EXPECT_EQ(base::read_file(log, 1000).value(), "ours added\n");
  std::filesystem::remove(log);
}

TEST(Process, keeps_only_the_given_descriptors) {
  const std::string log = scratch("process_test_descriptors");
  const int extra = ::dup(2);
  auto process =
      Process::start({"/bin/sh",
                      {"-c", "test -e /proc/self/fd/3 && ! test -e /proc/$$/fd/4 && echo good"},
                      log,
                      {{extra, 3}},
                      ""});
  ::close(extra);
  ASSERT_TRUE(process);
  wait_for_end(*process);
  EXPECT_EQ(base::read_file(log, 1000).value(), "good\n");
  std::filesystem::remove(log);
}

TEST(Process, may_swap_descriptors) {
  const std::string log = scratch("process_test_places");
  const int first = ::open("/etc/hostname", O_RDONLY), second = ::open("/dev/null", O_RDONLY);
  auto process = Process::start({"/bin/sh",
                                 {"-c", "readlink /proc/$$/fd/" + std::to_string(first) +
                                            " /proc/$$/fd/" + std::to_string(second)},
                                 log,
                                 {{first, second}, {second, first}},
                                 ""});
  ::close(first);
  ::close(second);
  ASSERT_TRUE(process);
  wait_for_end(*process);
  EXPECT_EQ(base::read_file(log, 1000).value(), "/dev/null\n/etc/hostname\n");
  std::filesystem::remove(log);
}

TEST(Process, reports_a_missing_program) {
  const auto process = Process::start({"/no/such/program", {}, "", {}, ""});
  ASSERT_FALSE(process);
  EXPECT_NE(base::to_string(process.error()).find("/no/such/program"), std::string::npos);
}

TEST(Process, is_killed_with_its_parent) {
  pid_t pid = 0;
  {
    auto process = Process::start({"/bin/sleep", {"100"}, "", {}, ""});
    ASSERT_TRUE(process);
    pid = process->pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

}  // namespace
}  // namespace trainyard::session
