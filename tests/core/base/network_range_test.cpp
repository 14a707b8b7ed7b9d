// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/network_range.h"

#include <gtest/gtest.h>

namespace trainyard::base {
namespace {

TEST(NetworkRanges, have_an_address_and_a_prefix) {
  for (const char* range : {"10.0.0.0/8", "0.0.0.0/0", "192.0.2.7/32", "fd91::/64", "::/128"})
    EXPECT_TRUE(is_network_range(range)) << range;
  for (const char* text : {"", "10.0.0.0", "10.0.0/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x",
                           "fd91::/129", "eth0", "/8"})
    EXPECT_FALSE(is_network_range(text)) << text;
}

TEST(NetworkRanges, contain_the_addresses_with_their_prefix) {
  EXPECT_TRUE(is_in_network_range("10.91.0.2", "10.0.0.0/8"));
  EXPECT_FALSE(is_in_network_range("11.91.0.2", "10.0.0.0/8"));
  EXPECT_TRUE(is_in_network_range("192.0.2.129", "192.0.2.128/25"));
  EXPECT_FALSE(is_in_network_range("192.0.2.127", "192.0.2.128/25"));
  EXPECT_TRUE(is_in_network_range("192.0.2.7", "0.0.0.0/0"));
  EXPECT_TRUE(is_in_network_range("fd91::4", "fd91::/64"));
  EXPECT_FALSE(is_in_network_range("fd92::4", "fd91::/64"));
  EXPECT_FALSE(is_in_network_range("fd91::4", "0.0.0.0/0")) << "another family";
  EXPECT_FALSE(is_in_network_range("m1", "0.0.0.0/0"));
}

}  // namespace
}  // namespace trainyard::base
