// SPDX-License-Identifier: GPL-3.0-or-later
// Link shares on a virtual clock: exact figures on any machine.
#include "core/comm/link_shares.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "tests/core/comm/drawings.h"

namespace trainyard::comm {
namespace {

constexpr Picoseconds kMicrosecond = 1'000'000, kMillisecond = 1'000'000'000;

// Shares over memory of their own.
class Shares {
 public:
  explicit Shares(const DrawnLinks& drawn, int channels = 2)
      : memory_(LinkShares::bytes(drawn, channels) / 64 + 1), shares_(format(drawn, channels)) {}
  LinkShares* operator->() { return &shares_; }
  std::span<std::uint64_t> words() {
    return {reinterpret_cast<std::uint64_t*>(memory_.data()),
            memory_.size() * sizeof(Line) / sizeof(std::uint64_t)};
  }

  // The time at which the oldest message of the lane has come, and takes it.
  Picoseconds take(const LaneName& lane, Picoseconds from = 0) {
    for (Picoseconds now = from;;) {
      const LinkShares::MessageState message_state = shares_.oldest(lane, now);
      EXPECT_TRUE(message_state.posted);
      if (!message_state.posted) return -1;
      if (message_state.arrived) return shares_.release(lane), message_state.next_check;
      EXPECT_GT(message_state.next_check, now);
      now = message_state.next_check;
    }
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  LinkShares format(const DrawnLinks& drawn, int channels) {
    return LinkShares::format({memory_.data()->bytes, memory_.size() * sizeof(Line)}, drawn,
                              channels);
  }
  std::vector<Line> memory_;
  LinkShares shares_;
};

TEST(LinkShares, give_a_single_message_the_narrowest_bandwidth_plus_latency) {
  Shares shares(links_of(chain({{"a", "b", 1e9, 5e-6}, {"b", "c", 250e6, 7e-6}})));
  shares->post({0, 2, 0}, 1000, 0);
  EXPECT_EQ(shares.take({0, 2, 0}), (32 + 12) * kMicrosecond);
}

TEST(LinkShares, match_the_drawn_bandwidth_from_10_megabits_to_10_gigabits) {
  for (const double bandwidth : {10e6, 100e6, 1e9, 10e9})
    for (const std::uint64_t bytes : {1u, 1'000u, 65'536u, 1u << 20, 64u << 20}) {
      Shares shares(links_of(chain({{"a", "b", bandwidth, 0}})));
      Picoseconds last = 0;
      for (int message = 0; message < 8; ++message) shares->post({0, 1, 0}, bytes, 0);
      for (int message = 0; message < 8; ++message) last = shares.take({0, 1, 0});
      EXPECT_NEAR(static_cast<double>(last),
                  8.0 * 8.0 * static_cast<double>(bytes) / bandwidth * 1e12, 8)
          << bandwidth << " bit/s, " << bytes << " B";
    }
}

TEST(LinkShares, are_equal_among_lanes_of_any_message_size) {
  Shares shares(links_of(one_host(3, 1e9, 0)));  // both lanes go into rank 2
  shares->post({0, 2, 0}, 1'000'000, 0);
  shares->post({1, 2, 0}, 1'000, 0);
  EXPECT_EQ(shares.take({1, 2, 0}), 16 * kMicrosecond)
      << "a long message delays a short one by its share only";
  EXPECT_EQ(shares.take({0, 2, 0}), 8 * kMillisecond + 8 * kMicrosecond)
      << "and it gets the bandwidth that the short one leaves";
}

TEST(LinkShares, redistribute_what_a_narrow_link_cannot_use) {
  Shares shares(links_of(chain({{"a", "b", 1e9, 0}, {"b", "c", 250e6, 0}})));
  shares->post({0, 2, 0}, 1000, 0);  // held to 250 Mbit/s by the second link
  shares->post({0, 1, 0}, 3000, 0);  // so 750 Mbit/s of the first are left
  EXPECT_EQ(shares.take({0, 2, 0}), 32 * kMicrosecond);
  EXPECT_EQ(shares.take({0, 1, 0}), 32 * kMicrosecond);
}

TEST(LinkShares, redistribute_the_share_of_a_removed_lane) {
  Shares shares(links_of(one_host(3, 1e9, 0)));  // both lanes go into rank 2
  for (int message = 0; message < 3; ++message) shares->post({0, 2, 0}, 1'000'000, 0);
  shares->post({1, 2, 0}, 2'000, 0);
  shares->forget({0, 2, 0}, 16 * kMicrosecond);  // until then half of it had come
  EXPECT_EQ(shares.take({1, 2, 0}), 24 * kMicrosecond);
  EXPECT_FALSE(shares->oldest({0, 2, 0}, 30 * kMillisecond).posted);
  shares->post({0, 2, 0}, 1000, 30 * kMillisecond);
  EXPECT_EQ(shares.take({0, 2, 0}, 30 * kMillisecond), 30 * kMillisecond + 8 * kMicrosecond)
      << "the lane is empty again";
}

// Direction of the first link in a chain of `hosts` hosts: busses come before links.
DirectedLink way_of_first_link(int hosts) { return 2 * hosts; }

TEST(LinkShares, of_a_cut_link_hold_messages_until_it_is_restored) {
  Shares shares(links_of(chain({{"a", "b", 1e9, 0}})));
  shares->post({0, 1, 0}, 2000, 0);
  shares->set_fraction(way_of_first_link(2), 0, 8 * kMicrosecond);  // half of it is there
  EXPECT_FALSE(shares->oldest({0, 1, 0}, 40'000 * kMillisecond).arrived);
  shares->set_fraction(way_of_first_link(2), 1, 40'000 * kMillisecond);
  EXPECT_NEAR(static_cast<double>(shares.take({0, 1, 0}, 40'000 * kMillisecond)),
              40'000.0 * kMillisecond + 8 * kMicrosecond, 1e3)
      << "except for bytes at the minimum rate";
  shares->post({1, 0, 0}, 1000, 50'000 * kMillisecond);
  EXPECT_EQ(shares.take({1, 0, 0}, 50'000 * kMillisecond), 50'000 * kMillisecond + 8 * kMicrosecond)
      << "the reverse direction was never cut";
}

TEST(LinkShares, of_a_slowed_link_carry_its_fraction_and_leave_others_unchanged) {
  Shares shares(links_of(chain({{"a", "b", 1e9, 0}, {"b", "c", 1e9, 0}})));
  shares->set_fraction(way_of_first_link(3), 0.25, 0);
  shares->post({0, 1, 0}, 1000, 0);
  shares->post({1, 2, 0}, 1000, 0);
  EXPECT_EQ(shares.take({0, 1, 0}), 32 * kMicrosecond);
  EXPECT_EQ(shares.take({1, 2, 0}), 8 * kMicrosecond);
  shares->set_fraction(way_of_first_link(3), 0.5, 100 * kMicrosecond);
  shares->post({0, 1, 0}, 1000, 100 * kMicrosecond);
  EXPECT_EQ(shares.take({0, 1, 0}, 100 * kMicrosecond), 116 * kMicrosecond)
      << "a fraction of the drawn bandwidth, not of the remaining one";
}

TEST(LinkShares, do_not_count_the_reverse_direction) {
  Shares shares(links_of(chain({{"a", "b", 1e9, 0}})));
  shares->post({0, 1, 0}, 1000, 0);
  shares->post({1, 0, 0}, 1000, 0);
  EXPECT_EQ(shares.take({0, 1, 0}), 8 * kMicrosecond);
  EXPECT_EQ(shares.take({1, 0, 0}), 8 * kMicrosecond);
}

TEST(LinkShares, of_channels_on_one_route_are_equal) {
  Shares shares(links_of(chain({{"a", "b", 1e9, 0}})));
  shares->post({0, 1, 0}, 1000, 0);
  shares->post({0, 1, 1}, 1000, 0);
  EXPECT_EQ(shares.take({0, 1, 0}), 16 * kMicrosecond);
  EXPECT_EQ(shares.take({0, 1, 1}), 16 * kMicrosecond);
}

TEST(LinkShares, of_empty_messages_take_only_the_latency_in_order) {
  Shares shares(links_of(chain({{"a", "b", 1e9, 3e-6}})));
  shares->post({0, 1, 0}, 0, 0);
  EXPECT_EQ(shares.take({0, 1, 0}), 3 * kMicrosecond);
  shares->post({0, 1, 0}, 1000, 100 * kMicrosecond);
  shares->post({0, 1, 0}, 0, 100 * kMicrosecond);
  shares->post({0, 1, 0}, 1000, 100 * kMicrosecond);
  for (const int after : {8, 8, 16})
    EXPECT_EQ(shares.take({0, 1, 0}, 100 * kMicrosecond), (100 + after + 3) * kMicrosecond);
}

TEST(LinkShares, report_a_full_lane) {
  Shares shares(links_of(chain({{"a", "b", 1e9, 0}})));
  for (std::uint64_t message = 0; message < LinkShares::kLaneMessages; ++message) {
    EXPECT_TRUE(shares->has_room({0, 1, 0}));
    shares->post({0, 1, 0}, 1, 0);
  }
  EXPECT_FALSE(shares->has_room({0, 1, 0}));
  EXPECT_TRUE(shares->has_room({0, 1, 1}));
  shares.take({0, 1, 0});
  EXPECT_TRUE(shares->has_room({0, 1, 0}));
}

TEST(LinkShares, deliver_only_posted_messages) {
  Shares shares(links_of(chain({{"a", "b", 1e9, 0}})));
  EXPECT_FALSE(shares->oldest({0, 1, 0}, kMillisecond).posted);
  shares->post({0, 1, 0}, 1, kMillisecond);
  shares.take({0, 1, 0}, kMillisecond);
  EXPECT_FALSE(shares->oldest({0, 1, 0}, 9 * kMillisecond).posted);
}

struct Posting {
  Picoseconds at = 0;
  LaneName lane;
  std::uint64_t bytes = 0;
};

// No lane has more than it can hold.
std::vector<Posting> any_postings(std::mt19937& random, int ranks, int count) {
  std::vector<Posting> postings;
  std::map<std::tuple<int, int, int>, int> used;
  Picoseconds now = 0;
  while (static_cast<int>(postings.size()) < count) {
    const int from = static_cast<int>(random() % static_cast<unsigned>(ranks)),
              channel = static_cast<int>(random() % 2);
    const int to =
        (from + 1 + static_cast<int>(random() % static_cast<unsigned>(ranks - 1))) % ranks;
    if (used[{from, to, channel}]++ >= static_cast<int>(LinkShares::kLaneMessages)) continue;
    postings.push_back(
        {now += random() % (200 * kMicrosecond), {from, to, channel}, random() % 100'000});
  }
  return postings;
}

// When each posting arrives, in the order of postings. `looks`: others look at the links in
// between, at these odd times.
std::vector<Picoseconds> arrivals(const topology::Topology& drawing,
                                  const std::vector<Posting>& postings, std::mt19937* looks) {
  Shares shares(links_of(drawing));
  for (const Posting& posting : postings) {
    if (looks != nullptr)
      shares->advance(posting.at - static_cast<Picoseconds>((*looks)() % 1'000'000));
    shares->post(posting.lane, posting.bytes, posting.at);
  }
  for (int i = 0; looks != nullptr && i < 50; ++i)
    shares->advance(postings.back().at +
                    i * static_cast<Picoseconds>((*looks)() % (500 * kMicrosecond)));
  std::vector<Picoseconds> all;
  for (const Posting& posting : postings)
    all.push_back(shares.take(posting.lane, postings.back().at));
  return all;
}

TEST(LinkShares, do_not_depend_on_who_polls_or_when) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    const auto drawing =
        round % 2 == 0
            ? one_host(4, 1e9, 1e-6)
            : chain({{"a", "b", 1e9, 1e-6}, {"b", "c", 3e8, 1e-6}, {"c", "d", 7e8, 1e-6}});
    const auto postings = any_postings(random, 4, 60);
    EXPECT_EQ(arrivals(drawing, postings, nullptr), arrivals(drawing, postings, &random));
  }
}

// One way that all cross: as long as anything waits for it, it passes its whole bandwidth.
TEST(LinkShares, keep_every_used_link_busy) {
  std::mt19937 random(6);
  for (int round = 0; round < 30; ++round) {
    auto postings = any_postings(random, 4, 40);
    std::erase_if(postings, [](const Posting& posting) { return posting.lane.to != 3; });
    for (Posting& posting : postings) posting.at = 0;
    double bits = 0;
    for (const Posting& posting : postings) bits += 8.0 * static_cast<double>(posting.bytes);
    const auto all = arrivals(one_host(4, 1e9, 0), postings, nullptr);
    EXPECT_NEAR(static_cast<double>(*std::max_element(all.begin(), all.end())), bits / 1e9 * 1e12,
                1e3 * static_cast<double>(postings.size()));
  }
}

// Applies a random change: posts, checks and takes, forgets, cuts or restores.
void change(Shares& shares, std::mt19937& random, Picoseconds now) {
  const auto any = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  const int from = any(4);
  const LaneName lane{from, (from + 1 + any(3)) % 4, any(2)};
  switch (any(8)) {
    case 0: return shares->forget(lane, now);
    case 1: return shares->set_fraction(any(shares->ways()), any(2), now);
    case 2:
    case 3:
      if (shares->oldest(lane, now).arrived) shares->release(lane);
      return;
    default:
      if (shares->has_room(lane)) shares->post(lane, static_cast<std::uint64_t>(any(100'000)), now);
  }
}

// Each word may have its value before or after the last change, as after a crash in the middle of
// it.
TEST(LinkShares, are_repaired_after_a_partial_change_and_deliver_all_messages) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 500; ++trial) {
    Shares shares(links_of(one_host(4, 1e9, 1e-6)));
    Picoseconds now = 0;
    for (int i = 0; i < 60; ++i)
      change(shares, random, now += static_cast<Picoseconds>(random() % 1000) * kMicrosecond);
    const auto words = shares.words();
    const std::vector<std::uint64_t> before(words.begin(), words.end());
    change(shares, random, now += kMicrosecond);
    for (std::size_t i = 0; i < words.size(); ++i)
      if (random() % 2 == 0) words[i] = before[i];
    shares->repair(now);
    for (int way = 0; way < shares->ways(); ++way) shares->set_fraction(way, 1, now);
    Picoseconds last = now;
    for (int from = 0; from < 4; ++from)
      for (int to = 0; to < 4; ++to)
        for (int channel = 0; from != to && channel < 2; ++channel)
          for (const LaneName lane{from, to, channel}; shares->oldest(lane, last).posted;)
            last = std::max(last, shares.take(lane, last));
    EXPECT_LT(last - now, 12 * 2 * 16 * kMillisecond)
        << "of at most 16 messages of 0.8 ms on each of 24 lanes";
    const auto alone = [](Shares& links, Picoseconds from) {
      return links->post({0, 1, 0}, 1000, from), links.take({0, 1, 0}, from) - from;
    };
    Shares whole(links_of(one_host(4, 1e9, 1e-6)));
    EXPECT_EQ(alone(shares, last + kMillisecond), alone(whole, 0))
        << "equal to a run without link faults";
  }
}

}  // namespace
}  // namespace trainyard::comm
