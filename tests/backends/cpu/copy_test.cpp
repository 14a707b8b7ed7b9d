// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace trainyard::cpu {
namespace {

std::vector<std::byte> counted(std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) all[i] = static_cast<std::byte>(i * 131 + i / 251 + 1);
  return all;
}

TEST(Copy, of_any_length_and_place_is_exact_and_touches_nothing_else) {
  constexpr std::size_t room = 128;
  constexpr auto guard = static_cast<std::byte>(0xA5);
  for (const std::size_t bytes : {0, 1, 15, 63, 64, 4095, 4096, 4097, 4160, 5000, 70'001})
    for (const std::size_t to : {0, 1, 4, 16, 60, 64})
      for (const std::size_t from : {0, 3, 8}) {
        const std::vector<std::byte> source = counted(from + bytes);
        std::vector<std::byte> destination(to + bytes + room, guard);
        copy(destination.data() + to, source.data() + from, static_cast<std::int64_t>(bytes));
        std::vector<std::byte> expected(to + bytes + room, guard);
        std::copy(source.begin() + static_cast<std::ptrdiff_t>(from), source.end(), expected.begin() + static_cast<std::ptrdiff_t>(to));
        ASSERT_EQ(destination, expected) << bytes << " bytes from " << from << " to " << to;
      }
}

}  // namespace
}  // namespace trainyard::cpu
