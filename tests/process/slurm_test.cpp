// SPDX-License-Identifier: GPL-3.0-or-later
// Runs on the nodes of a Slurm allocation. The cluster is on this machine (machines/slurm.sh).
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "core/base/descriptor.h"
#include "core/base/json.h"
#include "examples.h"
#include "run_program.h"

namespace trainyard::process {
namespace {

using base::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Returns ports of the loopback interface at which nothing listens.
std::vector<std::string> free_ports(std::size_t count) {
  std::vector<base::Descriptor> sockets;
  std::vector<std::string> ports;
  while (ports.size() < count) {
    sockets.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(sockets.back().get(), any, size), 0);
    EXPECT_EQ(::getsockname(sockets.back().get(), any, &size), 0);
    ports.push_back(std::to_string(ntohs(address.sin_port)));
  }
  return ports;
}

class Slurm : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can start slurmctld";
    for (const char* program : {"/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged"})
      if (!std::filesystem::exists(program)) GTEST_SKIP() << "there is no " << program;
    std::filesystem::permissions(scratch_ / "", std::filesystem::perms(0755));
    std::filesystem::create_directories(scratch_ / "home/runtime");
    std::filesystem::permissions(scratch_ / "home/runtime", std::filesystem::perms(0700));
    const passwd* const nobody = ::getpwnam("nobody");
    for (const char* directory : {"home", "home/runtime"})
      ASSERT_EQ(::chown((scratch_ / directory).c_str(), nobody->pw_uid, nobody->pw_gid), 0);
    start_cluster();
  }

  // Runs a program as another user than root, as which no agent runs.
  Ran as_user(std::vector<std::string> command) const {
    const std::string home = scratch_ / "home";
    std::vector<std::string> all{"setpriv",
                                 "--reuid=nobody",
                                 "--regid=nogroup",
                                 "--clear-groups",
                                 "env",
                                 "-u",
                                 "XDG_DATA_HOME",
                                 "HOME=" + home,
                                 "XDG_RUNTIME_DIR=" + home + "/runtime",
                                 "SLURM_CONF=" + std::string(scratch_ / "cluster/slurm.conf")};
    all.insert(all.end(), command.begin(), command.end());
    return run_program(std::move(all));
  }

  Scratch scratch_;

 private:
  void start_cluster() {
    std::array<int, 2> input{};
    ASSERT_EQ(::pipe2(input.data(), O_CLOEXEC), 0);
    const base::Descriptor child_end(input[0]);
    input_ = base::Descriptor(input[1]);
    session::ProcessOptions options;
    // All processes of a PID namespace end with the first one, also the daemons of job steps.
    options.program = "unshare";
    options.arguments = {"--pid",
                         "--fork",
                         "--kill-child",
                         "--mount-proc",
                         TRAINYARD_SOURCE_DIR "/tests/process/machines/slurm.sh",
                         scratch_ / "cluster"};
    for (std::string& port : free_ports(3)) options.arguments.push_back(std::move(port));
    options.log_file = scratch_ / "log";
    options.descriptors = {{child_end.get(), 0}};
    auto process = session::Process::start(options);
    ASSERT_TRUE(process) << base::to_string(process.error());
    process_ = std::make_unique<session::Process>(std::move(*process));
    const auto is_ready = [&] {
      return read(scratch_ / "log").find("\nready\n") != std::string::npos ||
             process_->ended().has_value();
    };
    ASSERT_TRUE(wait_until(60, is_ready)) << read(scratch_ / "log");
    ASSERT_FALSE(process_->ended()) << read(scratch_ / "log");
  }

  base::Descriptor input_{-1};  // The cluster ends when this closes.
  std::unique_ptr<session::Process> process_;
};

TEST_F(Slurm, run_uses_the_nodes_of_the_allocation) {
  Json document = expanded_document(example("four_hosts_ring_digits"));
  for (const char* list : {"hosts", "links"}) {
    Json& items = document["topology"][list];
    items.erase(items.begin() + 2, items.end());
  }
  const std::string experiment = scratch_ / "two.json", cli = TRAINYARD_BIN_DIR "/trainyard-cli";
  std::ofstream(experiment) << document.dump();
  std::vector<std::string> run = short_run(experiment, 8);
  run.insert(run.begin(), cli);
  const Ran near = as_user(run);
  ASSERT_EQ(near.exit_code, 0) << near.err;
  run.insert(run.end(), {"--hosts", "slurm"});
  EXPECT_THAT(as_user(run).problems(), ElementsAre(Pair("no_slurm_allocation", "--hosts")));
  run.insert(run.begin(), {"salloc", "--quiet", "--nodes=2"});
  const Ran far = as_user(run);
  ASSERT_EQ(far.exit_code, 0) << far.err;
  EXPECT_EQ(weights_of(far.result()), weights_of(near.result()));
  run[2] = "--nodes=1";
  EXPECT_THAT(as_user(run).problems(), ElementsAre(Pair("other_number_of_machines", "--hosts")));
  run[2] = "--nodes=2";
  run.insert(run.begin() + 3, {"srun", "--ntasks=2"});
  const Ran step = as_user(run);
  EXPECT_EQ(step.exit_code, 0) << step.err;
  EXPECT_EQ(weights_of(step.result()), weights_of(near.result())) << "one process ran it";
}

}  // namespace
}  // namespace trainyard::process
