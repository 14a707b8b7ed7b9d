// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/futex_event.h"

#include <gtest/gtest.h>

#include <thread>

namespace trainyard::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Two threads ring each other in turn; with a ring lost, one would sleep for its whole limit and
// the test for an hour.
void expect_no_ring_is_lost(SpinPolicy patience) {
  FutexEvent ping, pong;
  constexpr std::uint32_t rounds = 5000;
  std::thread answering([&] {
    for (std::uint32_t i = 0; i < rounds; ++i) {
      ASSERT_TRUE(wait_for_event(ping, i, patience, seconds(1000)));
      ring(pong);
    }
  });
  for (std::uint32_t i = 0; i < rounds; ++i) {
    ring(ping);
    ASSERT_TRUE(wait_for_event(pong, i, patience, seconds(1000)));
  }
  answering.join();
  EXPECT_EQ(ping.sleepers, 0u);
}

TEST(FutexEvent, loses_no_signal_while_spinning) {
  expect_no_ring_is_lost({std::chrono::microseconds(40), 50});
}
TEST(FutexEvent, loses_no_signal_when_sleeping_immediately) { expect_no_ring_is_lost({}); }

TEST(FutexEvent, wait_ends_at_its_time_limit_without_a_signal) {
  FutexEvent wake_event;
  EXPECT_FALSE(wait_for_event(wake_event, 0, {}, milliseconds(2)));
  EXPECT_FALSE(wait_for_event(wake_event, 0, {}, milliseconds(0)));
  ring(wake_event);
  EXPECT_TRUE(wait_for_event(wake_event, 0, {}, milliseconds(0)));
}

TEST(Listener, signal_wakes_every_thread) {
  FutexEvent wake_event;
  Listener listener(wake_event, {});
  std::atomic<int> listening{0};
  const auto hear = [&] {
    listener.wait(milliseconds(0));  // the first one returns at once
    ++listening;
    EXPECT_TRUE(listener.wait(seconds(1000)));
  };
  std::thread first(hear), second(hear);
  while (listening < 2) std::this_thread::yield();
  listener.ring();
  first.join();
  second.join();
}

TEST(SpinPolicy, hardly_spins_if_ranks_exceed_cores) {
  EXPECT_LT(patience(1'000'000).spin, std::chrono::microseconds(5));
}

}  // namespace
}  // namespace trainyard::comm
