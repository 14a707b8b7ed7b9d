// SPDX-License-Identifier: GPL-3.0-or-later
// Event that peers signal and one rank waits for, in memory that all of them map. A wait spins
// briefly, then yields, then sleeps on a futex. A signal makes a system call only if a thread
// sleeps.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace trainyard::comm {

struct alignas(64) FutexEvent {
  std::atomic<std::uint32_t> rings{0};  // the futex word: number of signals so far
  // number of threads that sleep in the futex system call, or are about to enter it
  std::atomic<std::uint32_t> sleepers{0};
};

void ring(FutexEvent& wake_event);

// How long to spin and how often to yield before sleeping. If there are more ranks than usable
// cores, spinning would only keep the peer from running, so a wait hardly spins and mostly yields.
struct SpinPolicy {
  std::chrono::nanoseconds spin{0};
  int yields = 0;
};
SpinPolicy patience(int ranks_on_this_host);
// Policy for ranks that wait for links with the drawn bandwidth. Such waits are long, so the ranks
// sleep almost immediately.
inline constexpr SpinPolicy kBriefPatience{std::chrono::microseconds(5), 0};

// Waits until the event's counter `rings` differs from `seen`, but at most `limit`. Returns true if
// it differs.
bool wait_for_event(FutexEvent& wake_event, std::uint32_t seen, SpinPolicy patience,
                    std::chrono::microseconds limit);

// An event, together with the last counter value that each thread of this process has seen. A
// signal between a thread's check of its messages and its wait is therefore not lost, and no thread
// consumes a signal for another.
class Listener {
 public:
  Listener(FutexEvent& wake_event, SpinPolicy patience);
  // The first wait of a thread returns immediately, because messages may have arrived since the
  // thread last checked for them.
  bool wait(std::chrono::microseconds limit);
  void ring() { comm::ring(*wake_event_); }

 private:
  FutexEvent* wake_event_;
  SpinPolicy patience_;
  std::uint64_t id_;  // number that is unique in this process
};

}  // namespace trainyard::comm
