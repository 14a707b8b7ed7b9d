// SPDX-License-Identifier: GPL-3.0-or-later
// A child process of ours: started without a shell, watched, and ended when its owner goes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace trainyard::session {

struct ProcessOptions {
  std::string program;
  std::vector<std::string> arguments;
  std::string log_file;                          // standard output and error are appended here
  std::vector<std::pair<int, int>> descriptors;  // ours -> the child's number, from 3 on
  std::string input;  // what it reads on standard input: secrets, which argv would show
  std::vector<std::string>
      environment{};  // NAME=VALUE, on top of ours; where ours says otherwise, that holds
};

class Process {
 public:
  // Signals are at their defaults; of the descriptors only those named are kept.
  static base::Result<Process> start(const ProcessOptions& options);
  ~Process();  // kills and reaps
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  pid_t pid() const { return pid_; }
  // How it ended, in words ("exit status 3", "signal 9 (Killed)"), or nothing while it lives.
  std::optional<std::string> ended();
  bool ended_well() const { return status_ == 0; }
  bool killed() const;    // a signal ended it
  int exit_code() const;  // as a shell says it: 128 + the signal; -1 while it lives
  void kill(int signal);

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
  std::optional<int> status_;  // as of waitpid
};

}  // namespace trainyard::session
