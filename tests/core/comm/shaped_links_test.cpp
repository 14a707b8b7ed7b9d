// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/shaped_links.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

#include "core/base/descriptor.h"
#include "tests/conformance/processes.h"
#include "tests/core/comm/drawings.h"

namespace trainyard::comm {
namespace {

DrawnLinks two_ranks() { return links_of(chain({{"a", "b", 1e9, 5e-6}})); }

TEST(ShapedLinks, deliver_a_message_at_its_arrival_time_and_not_before) {
  std::int64_t now = 1'000'000;
  const auto links = ShapedLinks::make(two_ranks(), 1, [&] { return now; });
  ASSERT_TRUE(links);
  ASSERT_TRUE((*links)->post({0, 1, 0}, 1000));
  const auto early = (*links)->oldest({0, 1, 0});
  ASSERT_TRUE(early);
  EXPECT_FALSE(early->arrived);
  EXPECT_EQ(early->look_again_ns, 1'000'000 + 8'000 + 5'000);
  now = early->look_again_ns - 1;
  EXPECT_FALSE((*links)->oldest({0, 1, 0})->arrived);
  now = early->look_again_ns;
  EXPECT_TRUE((*links)->oldest({0, 1, 0})->arrived);
}

TEST(ShapedLinks, are_shared_between_processes) {
  const auto fd = create_shaped_links(two_ranks(), 1);
  ASSERT_TRUE(fd);
  const base::Descriptor file(*fd);
  conformance::Processes sender(1, [&](int, const auto&) -> std::string {
    const auto links = ShapedLinks::open(file.get());
    return links && (*links)->post({0, 1, 0}, 1000) ? "" : "could not post";
  });
  ASSERT_TRUE(sender.ended_well(0));
  const auto links =
      ShapedLinks::open(file.get(), [] { return base::now_nanoseconds() + 1'000'000; });
  ASSERT_TRUE(links);
  EXPECT_TRUE((*links)->oldest({0, 1, 0})->arrived);
}

TEST(ShapedLinks, of_a_rank_that_dies_with_the_lock_are_repaired) {
  const auto fd = create_shaped_links(two_ranks(), 1);
  ASSERT_TRUE(fd);
  const base::Descriptor file(*fd);
  const auto links =
      ShapedLinks::open(file.get(), [] { return base::now_nanoseconds() + 1'000'000'000; });
  ASSERT_TRUE(links);
  ASSERT_TRUE((*links)->post({1, 0, 0}, 1000));
  conformance::Processes ranks(1, [&](int, const auto&) -> std::string {
    const auto own = ShapedLinks::open(
        file.get(), []() -> std::int64_t { ::_exit(0); });  // the clock is read with the lock held
    static_cast<void>((*own)->post({0, 1, 0}, 1));
    return "it lived on";
  });
  ASSERT_TRUE(ranks.ended_well(0));
  const auto gone = (*links)->oldest({0, 1, 0});
  ASSERT_TRUE(gone) << base::to_string(gone.error());
  EXPECT_FALSE(gone->arrived) << "it was not posted";
  ASSERT_TRUE((*links)->forget({0, 1, 0}, 1));
  const auto later =
      ShapedLinks::open(file.get(), [] { return base::now_nanoseconds() + 2'000'000'000; });
  EXPECT_TRUE((*later)->oldest({1, 0, 0})->arrived) << "the message was in transit";
  ASSERT_TRUE((*later)->release({1, 0, 0}));
  EXPECT_TRUE((*later)->post({0, 1, 0}, 1)) << "who comes back";
}

TEST(ShapedLinks, lose_nothing_with_concurrent_posts_and_polls) {
  const auto made = ShapedLinks::make(links_of(one_host(4, 1e15, 0)), 1);
  ASSERT_TRUE(made);
  ShapedLinks& links = **made;
  constexpr int kMessages = 2000;
  std::vector<std::thread> threads;
  for (int from = 0; from < 2; ++from) {
    const LaneName lane{from, from + 2, 0};
    std::shared_ptr<std::atomic<int>> taken = std::make_shared<std::atomic<int>>(0);
    threads.emplace_back([&links, lane, taken] {
      for (int i = 0; i < kMessages; ++i) {
        while (i - *taken >= static_cast<int>(LinkShares::kLaneMessages)) std::this_thread::yield();
        EXPECT_TRUE(links.post(lane, 1));
      }
    });
    threads.emplace_back([&links, lane, taken] {
      while (*taken < kMessages)
        if (links.oldest(lane)->arrived) {
          EXPECT_TRUE(links.release(lane));
          ++*taken;
        } else {
          std::this_thread::yield();
        }
      EXPECT_FALSE(links.oldest(lane)->arrived);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ShapedLinks, refuse_foreign_files) {
  EXPECT_FALSE(ShapedLinks::open(-1));
  const base::Descriptor unsealed(::memfd_create("unsealed", 0)),
      zeros(::memfd_create("zeros", MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(unsealed.get(), 1 << 20), 0);
  ASSERT_EQ(::ftruncate(zeros.get(), 1 << 20), 0);
  ASSERT_EQ(::fcntl(zeros.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_FALSE(ShapedLinks::open(unsealed.get())) << "the file could shrink while it is read";
  EXPECT_FALSE(ShapedLinks::open(zeros.get()));
}

TEST(ShapedLinks, refuse_full_lanes_and_invalid_shapes) {
  EXPECT_FALSE(create_shaped_links(two_ranks(), 0));
  EXPECT_FALSE(ShapedLinks::make({}, 1));
  const auto links = ShapedLinks::make(two_ranks(), 1);
  for (std::uint64_t message = 0; message < LinkShares::kLaneMessages; ++message)
    EXPECT_TRUE((*links)->post({0, 1, 0}, 1));
  EXPECT_FALSE((*links)->post({0, 1, 0}, 1));
  for (const LaneName& lane : {LaneName{0, 0, 0}, LaneName{0, 2, 0}, LaneName{-1, 1, 0},
                               LaneName{0, 1, 1}, LaneName{0, 1, -1}})
    EXPECT_FALSE((*links)->holds(lane)) << lane.from << " " << lane.to << " " << lane.channel;
}

}  // namespace
}  // namespace trainyard::comm
