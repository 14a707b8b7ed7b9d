// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/event_ring.h"

#include <gtest/gtest.h>

#include <thread>

namespace trainyard::telemetry {
namespace {

// All fields carry the number, so that an event torn by a race is seen.
Event numbered(std::int64_t number) {
  Event event;
  event.begin_ns = event.ready_ns = event.end_ns = number;
  event.value = static_cast<double>(number);
  event.step = static_cast<std::int32_t>(number);
  return event;
}

bool is_whole(const Event& event) {
  return event.ready_ns == event.begin_ns && event.end_ns == event.begin_ns &&
         event.value == static_cast<double>(event.begin_ns) &&
         event.step == static_cast<std::int32_t>(event.begin_ns);
}

std::vector<std::int64_t> numbers(const std::vector<Event>& events) {
  std::vector<std::int64_t> all;
  for (const Event& event : events) all.push_back(event.begin_ns);
  return all;
}

TEST(EventRing, returns_events_in_order) {
  EventRing ring(8);
  std::vector<Event> out;
  EXPECT_EQ(ring.read(out), 0u);
  for (int i = 0; i < 3; ++i) ring.write(numbered(i));
  EXPECT_EQ(ring.read(out), 3u);
  EXPECT_EQ(numbers(out), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(ring.read(out), 0u);
  EXPECT_EQ(ring.dropped(), 0u);
}

TEST(EventRing, appends_and_reads_at_most_the_limit) {
  EventRing ring(8);
  for (int i = 0; i < 5; ++i) ring.write(numbered(i));
  std::vector<Event> out;
  EXPECT_EQ(ring.read(out, 2), 2u);
  EXPECT_EQ(ring.read(out, 2), 2u);
  EXPECT_EQ(ring.read(out, 2), 1u);
  EXPECT_EQ(numbers(out), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(EventRing, drops_and_counts_the_newest_events_when_full) {
  EventRing ring(4);
  for (int i = 0; i < 7; ++i) ring.write(numbered(i));
  EXPECT_EQ(ring.dropped(), 3u);
  std::vector<Event> out;
  ring.read(out);
  EXPECT_EQ(numbers(out), (std::vector<std::int64_t>{0, 1, 2, 3}));
  ring.write(numbered(9));
  ring.read(out);
  EXPECT_EQ(out.back().begin_ns, 9);
  EXPECT_EQ(ring.dropped(), 3u);
}

TEST(EventRing, keeps_order_at_the_end_of_its_storage) {
  EventRing ring(4);
  std::vector<Event> out;
  for (int i = 0; i < 30; ++i) {
    ring.write(numbered(i));
    if (i % 3 == 2) ring.read(out);
  }
  ASSERT_EQ(out.size(), 30u);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)].begin_ns, i);
}

TEST(EventRing, rounds_its_capacity_up_to_a_power_of_two) {
  for (const auto& [asked, held] : {std::pair<std::size_t, int>{0, 1}, {1, 1}, {3, 4}, {5, 8}}) {
    EventRing ring(asked);
    for (int i = 0; i < 20; ++i) ring.write(numbered(i));
    std::vector<Event> out;
    EXPECT_EQ(ring.read(out), static_cast<std::size_t>(held)) << asked;
  }
}

// A writer at full speed against a reader in small bites: whole events, rising, and each is read or
// counted.
TEST(EventRing, counts_every_event_lost_between_two_threads) {
  constexpr std::int64_t kEvents = 200'000;
  EventRing ring(256);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::int64_t i = 0; i < kEvents; ++i) {
      ring.write(numbered(i));
      if (i % 512 == 0) std::this_thread::yield();
    }
    done.store(true, std::memory_order_release);
  });
  std::vector<Event> out;
  for (bool last = false; !last;) {
    last = done.load(std::memory_order_acquire);
    while (ring.read(out, 100) > 0) {
    }
  }
  writer.join();
  EXPECT_EQ(out.size() + ring.dropped(), static_cast<std::size_t>(kEvents));
  EXPECT_FALSE(out.empty());
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_TRUE(is_whole(out[i])) << i;
    if (i > 0) {
      ASSERT_LT(out[i - 1].begin_ns, out[i].begin_ns);
    }
  }
}

// A writer that waits for room loses nothing at all.
TEST(EventRing, drops_nothing_if_the_reader_keeps_up) {
  constexpr std::int64_t kEvents = 100'000;
  EventRing ring(64);
  std::atomic<std::int64_t> read{0};
  std::thread writer([&] {
    for (std::int64_t i = 0; i < kEvents; ++i) {
      while (i - read.load(std::memory_order_acquire) >= 64) std::this_thread::yield();
      ring.write(numbered(i));
    }
  });
  std::vector<Event> out;
  while (out.size() < kEvents) {
    if (ring.read(out) == 0) std::this_thread::yield();
    read.store(static_cast<std::int64_t>(out.size()), std::memory_order_release);
  }
  writer.join();
  EXPECT_EQ(ring.dropped(), 0u);
  for (std::size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i].begin_ns, static_cast<std::int64_t>(i));
}

}  // namespace
}  // namespace trainyard::telemetry
