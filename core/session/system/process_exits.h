// SPDX-License-Identifier: GPL-3.0-or-later
// Notifies of the ends of several processes with one descriptor (epoll).
#pragma once

namespace trainyard::session {

class ProcessExits {
 public:
  ProcessExits();
  ~ProcessExits();
  ProcessExits(const ProcessExits&) = delete;
  ProcessExits& operator=(const ProcessExits&) = delete;

  // Adds a process, given by its pidfd (Process::descriptor). -1 is ignored. The process is removed
  // when its pidfd is closed.
  void add(int process_descriptor);
  // Returns a descriptor that is readable after the end of an added process, until `clear` is
  // called; -1 if the system has no descriptor left.
  int descriptor() const { return epoll_; }
  void clear();

 private:
  int epoll_ = -1;
};

}  // namespace trainyard::session
