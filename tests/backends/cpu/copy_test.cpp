// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/compute/ops.h"

namespace trainyard::cpu {
namespace {

std::vector<std::byte> counted(std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) all[i] = static_cast<std::byte>(i * 131 + i / 251 + 1);
  return all;
}

TEST(Copy, of_any_length_and_address_is_exact_and_changes_nothing_else) {
  constexpr std::size_t room = 128;
  constexpr auto guard = static_cast<std::byte>(0xA5);
  for (const std::size_t bytes : {0, 1, 15, 63, 64, 4095, 4096, 4097, 4160, 5000, 70'001})
    for (const std::size_t to : {0, 1, 4, 16, 60, 64})
      for (const auto& [from, way] : {std::pair{0UL, CopyMethod::past_caches},
                                      {3UL, CopyMethod::past_caches},
                                      {8UL, CopyMethod::past_caches},
                                      {3UL, CopyMethod::through_caches}}) {
        const std::vector<std::byte> source = counted(from + bytes);
        std::vector<std::byte> destination(to + bytes + room, guard);
        copy(destination.data() + to, source.data() + from, static_cast<std::int64_t>(bytes), way);
        std::vector<std::byte> expected(to + bytes + room, guard);
        std::copy(source.begin() + static_cast<std::ptrdiff_t>(from), source.end(),
                  expected.begin() + static_cast<std::ptrdiff_t>(to));
        ASSERT_EQ(destination, expected) << bytes << " bytes from " << from << " to " << to;
      }
}

TEST(CopyPathTuner, tries_both_paths_equally_and_takes_the_faster_one) {
  for (const CopyMethod faster : {CopyMethod::through_caches, CopyMethod::past_caches}) {
    CopyPathTuner choice;
    std::array<int, 2> tried{};
    while (!choice.decided(100'000)) {
      const CopyMethod way = choice.next(100'000);
      ++tried[static_cast<std::size_t>(way)];
      const bool disturbed =
          tried[static_cast<std::size_t>(way)] == 2;  // another process had the core
      choice.took(100'000, way, (way == faster ? 1000 : 1100) + (disturbed ? 1'000'000 : 0));
    }
    EXPECT_EQ(tried, (std::array<int, 2>{CopyPathTuner::kTries / 2, CopyPathTuner::kTries / 2}));
    EXPECT_EQ(choice.next(100'000), faster);
    EXPECT_EQ(choice.next(70'000), faster) << "of about the same length";
    EXPECT_FALSE(choice.decided(1'000'000)) << "another length may use another path";
  }
}

TEST(Copier, is_exact_while_tuning_and_after) {
  Copier copier;
  for (const std::size_t bytes : {100, 5000, 70'001})
    for (int i = 0; i < 2 * CopyPathTuner::kTries; ++i) {
      const std::vector<std::byte> source = counted(bytes);
      std::vector<std::byte> destination(bytes);
      copier.copy(destination.data(), source.data(), static_cast<std::int64_t>(bytes));
      ASSERT_EQ(destination, source);
    }
}

}  // namespace
}  // namespace trainyard::cpu
