// SPDX-License-Identifier: GPL-3.0-or-later
// Child process: started without a shell, watched, and killed when its owner is destroyed.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace trainyard::session {

struct ProcessOptions {
  std::string program;  // path, or the name of a program in PATH
  std::vector<std::string> arguments;
  std::string log_file;  // Standard output and error are appended to this file.
  // Open descriptors for the child: (number in this process, number in the child). 0 and 1 replace
  // the child's standard input and output; 2 is not accepted.
  std::vector<std::pair<int, int>> descriptors;
  // Text for the child's standard input. Used for secrets, because other users can read argv.
  std::string input;
  // Variables "NAME=VALUE", added to this process's environment unless already set there.
  std::vector<std::string> environment{};
  bool new_session = false;  // without the terminal of this process
};

class Process {
 public:
  // Starts the program with default signal handlers. The program inherits only the descriptors
  // named in `options`.
  static base::Result<Process> start(const ProcessOptions& options);
  ~Process();  // Kills and reaps the process.
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  pid_t pid() const { return pid_; }
  // Returns in words how the process ended ("exit status 3", "signal 9 (Killed)"), or nothing while
  // it runs.
  std::optional<std::string> ended();
  bool ended_well() const { return status_ == 0; }
  bool killed() const;    // True if a signal ended it.
  int exit_code() const;  // Exit code as in a shell: 128 + the signal; -1 while it runs.
  // Returns the CPU time that all threads of the process have used; nothing after its end.
  std::optional<double> cpu_seconds() const;
  void kill(int signal);
  // Leaves the process running when this object is destroyed.
  void release();
  // Returns a descriptor (pidfd) that is readable once the process has ended; -1 after `ended` has
  // returned so, and on kernels without pidfd.
  int descriptor() const { return descriptor_; }

 private:
  explicit Process(pid_t pid);
  void reaped(int status);
  pid_t pid_ = -1;
  int descriptor_ = -1;
  std::optional<int> status_;  // Exit status from waitpid.
};

}  // namespace trainyard::session
