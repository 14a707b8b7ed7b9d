// SPDX-License-Identifier: GPL-3.0-or-later
// With a program in place of ssh, which runs the command on this machine.
#include "backends/ssh/ssh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace trainyard::ssh {
namespace {

// Puts a program named ssh first in PATH.
class FakeSsh {
 public:
  explicit FakeSsh(const std::string& script) : old_path_(std::getenv("PATH")) {
    std::string pattern = "/tmp/trainyard-ssh-test-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    const std::filesystem::path program = directory_ / "ssh";
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    ::setenv("PATH", (directory_.string() + ":" + old_path_).c_str(), 1);
  }
  ~FakeSsh() {
    ::setenv("PATH", old_path_.c_str(), 1);
    std::filesystem::remove_all(directory_);
  }
  FakeSsh(const FakeSsh&) = delete;
  FakeSsh& operator=(const FakeSsh&) = delete;
  std::string log() const { return (directory_ / "log").string(); }

 private:
  std::string old_path_;
  std::filesystem::path directory_;
};

// The last argument is the command.
const char* const kRunHere = "for last; do :; done; exec sh -c \"$last\"";

std::string received(Connection& connection) {
  for (int looks = 0; looks < 1000; ++looks) {
    pollfd item{connection.stream->input(), POLLIN, 0};
    ::poll(&item, 1, 10);
    const auto read = connection.stream->read();
    if (const auto message = connection.stream->take()) return message->bytes;
    if (!read) return read.error().id;
  }
  return "nothing";
}

TEST(Ssh, arguments_keep_host_key_checks_and_end_options) {
  const auto arguments = arguments_of({"me@far", {"/a b/agent", "--stdio", "it's"}, ""});
  EXPECT_THAT(arguments, testing::ElementsAre("-T", "-a", "-x", "-o", "ClearAllForwardings=yes",
                                              "-o", "BatchMode=yes", "-o", "ConnectTimeout=10",
                                              "-o", "ServerAliveInterval=5", "--", "me@far",
                                              "'/a b/agent' '--stdio' 'it'\\''s'"));
}

// A pseudo terminal (--unbuffered) would change the bytes.
TEST(Ssh, nodes_of_an_allocation_are_reached_by_srun) {
  EXPECT_THAT(srun_arguments_of({"slurm:node7", {"/a b/agent", "--stdio"}, ""}),
              testing::ElementsAre("--overlap", "--nodes=1", "--ntasks=1", "--nodelist=node7", "--",
                                   "/a b/agent", "--stdio"));
}

TEST(Ssh, refuses_a_destination_that_ssh_would_read_as_an_option) {
  for (const char* destination : {"", "-oProxyCommand=touch /tmp/x", "-v"}) {
    const auto connection = connect({destination, {"agent"}, ""});
    ASSERT_FALSE(connection) << destination;
    EXPECT_EQ(connection.error().id, "bad_address");
  }
}

// `cat` returns the frames.
TEST(Ssh, frames_travel_over_standard_input_and_output) {
  const FakeSsh fake(std::string("echo 'Welcome!'; ") + kRunHere);
  auto connection = connect({"far", {"cat"}, fake.log()});
  ASSERT_TRUE(connection) << base::to_string(connection.error());
  connection->stream->send(5, "hello");
  ASSERT_TRUE(connection->stream->write());
  EXPECT_EQ(received(*connection), "hello");
  EXPECT_EQ(connection->stream->text(), "Welcome!\n");
}

TEST(Ssh, failed_connection_ends_the_stream_and_is_logged) {
  const FakeSsh fake("echo 'Permission denied (publickey).' >&2; exit 255");
  auto connection = connect({"far", {"agent"}, fake.log()});
  ASSERT_TRUE(connection) << base::to_string(connection.error());
  EXPECT_EQ(received(*connection), "end_of_stream");
  std::ifstream log(fake.log());
  std::string line;
  std::getline(log, line);
  EXPECT_EQ(line, "Permission denied (publickey).");
}

}  // namespace
}  // namespace trainyard::ssh
