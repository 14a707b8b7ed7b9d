// SPDX-License-Identifier: GPL-3.0-or-later
#include "machines.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

#include "run_program.h"

namespace trainyard::process {

std::string Machines::missing() {
  if (::geteuid() != 0) return "only root can make network namespaces";
  if (!std::filesystem::exists("/usr/sbin/sshd")) return "there is no sshd (openssh-server)";
  if (shell("unshare --mount --net --uts --ipc --pid --fork --mount-proc true").exit_code != 0)
    return "this system does not allow namespaces";
  return "";
}

Machines::Machines(int count) : input_(-1) {
  std::array<int, 2> input{};
  EXPECT_EQ(::pipe2(input.data(), O_CLOEXEC), 0);
  const base::Descriptor child_end(input[0]);
  input_ = base::Descriptor(input[1]);
  session::ProcessOptions options;
  options.program = TRAINYARD_SOURCE_DIR "/tests/process/machines/machines.sh";
  options.arguments = {scratch_ / "machines", std::to_string(count), TRAINYARD_BIN_DIR};
  options.log_file = scratch_ / "log";
  options.descriptors = {{child_end.get(), 0}};
  auto process = session::Process::start(options);
  EXPECT_TRUE(process) << (process ? "" : base::to_string(process.error()));
  if (!process) return;
  process_ = std::make_unique<session::Process>(std::move(*process));
  const auto is_ready = [&] {
    std::ifstream log(scratch_ / "log");
    for (std::string line; std::getline(log, line);) {
      std::istringstream words(line);
      std::string ready;
      if (words >> ready >> pid_ && ready == "ready") return true;
    }
    return process_->ended().has_value();
  };
  EXPECT_TRUE(wait_until(60, is_ready));
  EXPECT_FALSE(process_->ended()) << read(scratch_ / "log");
}

Ran Machines::on_coordinator(const std::vector<std::string>& command) const {
  std::vector<std::string> all{"nsenter",
                               "--target",
                               pid_,
                               "--all",
                               "env",
                               "--chdir=/mnt",
                               "HOME=/mnt/home",
                               "XDG_DATA_HOME=/mnt/data",
                               "XDG_RUNTIME_DIR=/mnt/runtime"};
  std::filesystem::create_directories(files(0) / "runtime");
  std::filesystem::permissions(files(0) / "runtime", std::filesystem::perms::owner_all);
  all.insert(all.end(), command.begin(), command.end());
  return run_program(std::move(all));
}

Ran Machines::cli(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command{TRAINYARD_BIN_DIR "/trainyard-cli"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return on_coordinator(command);
}

Ran Machines::on(int number, const std::string& script) const {
  // the first process of the machine, which m0 sees by the arguments of its sshd's parent
  const std::string enter = "exec nsenter --target $(pgrep -f '^unshare .* " +
                            std::to_string(number) + " ?" + TRAINYARD_BIN_DIR +
                            "' | xargs -n 1 pgrep -P) --all sh -c \"$1\"";
  return on_coordinator({"sh", "-c", enter, "sh", script});
}

std::filesystem::path Machines::files(int number) const {
  return scratch_ / "machines" / ("m" + std::to_string(number));
}

}  // namespace trainyard::process
