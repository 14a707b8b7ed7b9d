// SPDX-License-Identifier: GPL-3.0-or-later
// Runs ssh, or another program of OpenSSH, and waits for its end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace trainyard::ssh {

// Directory for files of this user only, removed with its contents by the destructor.
class PrivateDirectory {
 public:
  static base::Result<PrivateDirectory> make();
  ~PrivateDirectory();
  PrivateDirectory(PrivateDirectory&& other) noexcept;
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  explicit PrivateDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Receives the number of bytes sent and of all bytes. False cancels the command.
using Progress = std::function<bool(std::uint64_t sent, std::uint64_t total)>;

struct Command {
  std::string program;
  std::vector<std::string> arguments;
  std::filesystem::path input{};  // file for its standard input; empty: none
  Progress progress{};            // of the input; may be null
  double limit_seconds = 60;      // without progress
};

struct CommandResult {
  int exit_code = 0;
  std::string printed;  // on standard output and error, at most 64 kB
};

// Kills the program after its limit (problem "command_timed_out") or if `progress` returns false
// (problem "canceled").
base::Result<CommandResult> run(const Command& command);

// Quotes a word for a shell.
std::string quoted(const std::string& word);

}  // namespace trainyard::ssh
