// SPDX-License-Identifier: GPL-3.0-or-later
// A bell that peers ring and one rank waits for, in memory that all of them map. Waiting spins
// briefly, then yields, then sleeps on a futex; who rings makes a system call only when somebody
// sleeps.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace trainyard::comm {

struct alignas(64) Bell {
  std::atomic<std::uint32_t> rings{0};     // the futex word
  std::atomic<std::uint32_t> sleepers{0};  // how many are in the system call, or about to be
};

void ring(Bell& bell);

// How long to burn before sleeping. When ranks are more than the cores this process may use,
// spinning would only keep the peer from running, so there is next to none and yielding does the
// work.
struct Patience {
  std::chrono::nanoseconds spin{0};
  int yields = 0;
};
Patience patience(int ranks_on_this_host);
// Of ranks that wait for drawn links, which takes long: asleep at once.
inline constexpr Patience kBriefPatience{std::chrono::microseconds(5), 0};

// Waits until the bell was rung after it showed `seen`, or until `limit` has passed. True: it was
// rung.
bool wait_for_ring(Bell& bell, std::uint32_t seen, Patience patience,
                   std::chrono::microseconds limit);

// A bell and what each thread of this process last heard of it, so that no ring is lost between a
// thread's look at its messages and its wait, and none is taken from it by another thread.
class Listener {
 public:
  Listener(Bell& bell, Patience patience);
  // The first wait of a thread returns at once: what it looked at before may be out of date.
  bool wait(std::chrono::microseconds limit);
  void ring() { comm::ring(*bell_); }

 private:
  Bell* bell_;
  Patience patience_;
  std::uint64_t id_;  // unique in this process
};

}  // namespace trainyard::comm
