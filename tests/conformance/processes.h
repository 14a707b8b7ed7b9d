// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks as forked processes, for tests. Fork while this process has one thread only: before any
// thread or socket context.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace trainyard::conformance {

class Processes {
 public:
  // `body` runs in each process; what it returns is what went wrong, "" for nothing. `ready` may be
  // called by a body once, to tell the parent that it has come so far.
  using Ready = std::function<void()>;
  Processes(int count, const std::function<std::string(int rank, const Ready& ready)>& body) {
    if (::pipe(ready_) != 0) return;
    for (int rank = 0; rank < count; ++rank) ids_.push_back(start(rank, body));
  }
  ~Processes() {
    for (const pid_t id : ids_)
      if (id > 0) ::kill(id, SIGKILL), ::waitpid(id, nullptr, 0);
    ::close(ready_[0]);
    ::close(ready_[1]);
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  bool wait_until_ready(int count) {
    for (int i = 0; i < count; ++i) {
      char byte = 0;
      pollfd waiting{ready_[0], POLLIN, 0};
      if (::poll(&waiting, 1, 20'000) != 1 || ::read(ready_[0], &byte, 1) != 1) return false;
    }
    return true;
  }

  // Does not wait for the process, so that its exit is not yet reaped.
  void kill(int rank) { ::kill(ids_[static_cast<std::size_t>(rank)], SIGKILL); }

  // True when the process ended in time and nothing went wrong in it.
  bool ended_well(int rank, std::chrono::seconds limit = std::chrono::seconds(30)) {
    pid_t& id = ids_[static_cast<std::size_t>(rank)];
    int status = 0;
    for (const auto end = std::chrono::steady_clock::now() + limit;
         ::waitpid(id, &status, WNOHANG) == 0;) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    id = -1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t start(int rank, const std::function<std::string(int, const Ready&)>& body) {
    const pid_t id = ::fork();
    if (id != 0) return id;
    const std::string wrong =
        body(rank, [this] { [[maybe_unused]] const auto written = ::write(ready_[1], "r", 1); });
    if (!wrong.empty()) std::fprintf(stderr, "process of rank %d: %s\n", rank, wrong.c_str());
    ::_exit(wrong.empty() ? 0 : 1);
  }

  int ready_[2] = {-1, -1};
  std::vector<pid_t> ids_;
};

}  // namespace trainyard::conformance
