// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/futex_event.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <utility>

#include "core/base/clock.h"
#include "core/base/machine.h"

namespace trainyard::comm {
namespace {

using std::chrono::nanoseconds;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* limit) {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, limit,
                   nullptr, 0);
}

bool rung_since(const FutexEvent& wake_event, std::uint32_t seen) {
  return wake_event.rings.load(std::memory_order_acquire) != seen;
}

bool spin(const FutexEvent& wake_event, std::uint32_t seen, nanoseconds span) {
  const std::int64_t end = base::now_nanoseconds() + span.count();
  do {
    for (int i = 0; i < 32; ++i) {
      if (rung_since(wake_event, seen)) return true;
      relax();
    }
  } while (base::now_nanoseconds() < end);
  return false;
}

bool yield(const FutexEvent& wake_event, std::uint32_t seen, int times, std::int64_t end) {
  for (int i = 0; i < times && base::now_nanoseconds() < end; ++i) {
    ::sched_yield();
    if (rung_since(wake_event, seen)) return true;
  }
  return false;
}

// Sleeps until the event is signaled or `end`. A sleeper increments `sleepers` before its last
// check; a signaling thread increments `rings` before it reads `sleepers`. All these accesses have
// one total order, so one of the two threads sees the other. The kernel checks the futex word again
// before the thread sleeps.
bool sleep(FutexEvent& wake_event, std::uint32_t seen, std::int64_t end) {
  wake_event.sleepers.fetch_add(1, std::memory_order_seq_cst);
  while (wake_event.rings.load(std::memory_order_seq_cst) == seen) {
    const std::int64_t left = end - base::now_nanoseconds();
    if (left <= 0) break;
    const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
    futex(wake_event.rings, FUTEX_WAIT, seen, &limit);
  }
  wake_event.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  return rung_since(wake_event, seen);
}

struct Heard {
  std::uint64_t listener = 0;
  std::uint32_t rings = 0;
};

// Returns this thread's entry for a listener, in a small table of the thread. A thread rarely waits
// on more than two events. After an entry is evicted, one wait returns early.
Heard& heard_by_this_thread(std::uint64_t listener) {
  thread_local std::array<Heard, 8> all{};
  thread_local std::size_t next = 0;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Heard& heard) { return heard.listener == listener; });
  if (found != all.end()) return *found;
  return all[next++ % all.size()] = Heard{};
}

}  // namespace

void ring(FutexEvent& wake_event) {
  wake_event.rings.fetch_add(1, std::memory_order_seq_cst);
  if (wake_event.sleepers.load(std::memory_order_seq_cst) != 0)
    futex(wake_event.rings, FUTEX_WAKE, INT_MAX, nullptr);
}

SpinPolicy patience(int ranks_on_this_host) {
  // Synchronized ranks rarely wait longer than a millisecond, which is about 2000 yields. Sleeping
  // earlier would cost a wake-up each time.
  if (base::usable_cores() >= ranks_on_this_host) return {std::chrono::microseconds(40), 2000};
  return {std::chrono::nanoseconds(500), 20};
}

bool wait_for_event(FutexEvent& wake_event, std::uint32_t seen, SpinPolicy patience,
                    std::chrono::microseconds limit) {
  if (rung_since(wake_event, seen)) return true;
  if (limit.count() <= 0) return false;
  const std::int64_t end = base::now_nanoseconds() + nanoseconds(limit).count();
  if (spin(wake_event, seen, std::min<nanoseconds>(patience.spin, limit))) return true;
  if (yield(wake_event, seen, patience.yields, end)) return true;
  return sleep(wake_event, seen, end);
}

Listener::Listener(FutexEvent& wake_event, SpinPolicy patience)
    : wake_event_(&wake_event), patience_(patience) {
  static std::atomic<std::uint64_t> count{0};
  id_ = ++count;
}

bool Listener::wait(std::chrono::microseconds limit) {
  Heard& heard = heard_by_this_thread(id_);
  const bool known = std::exchange(heard.listener, id_) == id_;
  const bool notified = !known || wait_for_event(*wake_event_, heard.rings, patience_, limit);
  heard.rings = wake_event_->rings.load(std::memory_order_acquire);
  return notified;
}

}  // namespace trainyard::comm
