// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/process_exits.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace trainyard::session {

ProcessExits::ProcessExits() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

ProcessExits::~ProcessExits() {
  if (epoll_ >= 0) ::close(epoll_);
}

void ProcessExits::add(int process_descriptor) {
  if (process_descriptor < 0) return;
  // EPOLLET: reports each end once. A pidfd stays readable until its process is reaped.
  epoll_event event{.events = EPOLLIN | std::uint32_t{EPOLLET}, .data = {}};
  static_cast<void>(::epoll_ctl(epoll_, EPOLL_CTL_ADD, process_descriptor, &event));
}

void ProcessExits::clear() {
  std::array<epoll_event, 64> events;
  const int capacity = static_cast<int>(events.size());
  while (::epoll_wait(epoll_, events.data(), capacity, 0) == capacity) {
  }
}

}  // namespace trainyard::session
