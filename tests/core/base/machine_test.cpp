// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/machine.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>

namespace trainyard::base {
namespace {

namespace fs = std::filesystem;

class Quota : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root_ / "a" / "b"); }
  void TearDown() override { fs::remove_all(root_); }
  void set(const fs::path& group, const char* quota) const {
    std::ofstream(root_ / group / "cpu.max") << quota << '\n';
  }
  double of(const char* group) const { return quota_cores(root_, group); }

  fs::path root_ = fs::temp_directory_path() / ("trainyard-quota-" + std::to_string(::getpid()));
};

TEST_F(Quota, is_none_where_no_group_sets_one) {
  EXPECT_EQ(of("/a/b"), 0);
  set("a", "max 100000");
  EXPECT_EQ(of("/a/b"), 0);
  EXPECT_EQ(of("/no/such/group"), 0);
  EXPECT_EQ(of(""), 0);
}

TEST_F(Quota, is_the_tightest_of_the_group_and_those_above) {
  set("a/b", "250000 100000");
  EXPECT_EQ(of("/a/b"), 2.5);
  EXPECT_EQ(of("/a"), 0);
  set("a", "150000 100000");
  EXPECT_EQ(of("/a/b"), 1.5);
  set(".", "800000 100000");
  EXPECT_EQ(of("/a/b"), 1.5);
  EXPECT_EQ(of("/"), 8);
}

TEST_F(Quota, that_is_no_quota_counts_for_none) {
  for (const char* text : {"", "0 100000", "100000 0", "-5 100000", "lots", "100000"}) {
    set("a", text);
    EXPECT_EQ(of("/a"), 0) << text;
  }
}

TEST(UsableCores, are_at_least_one_and_at_most_what_the_affinity_allows) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), CPU_COUNT(&allowed));
}

}  // namespace
}  // namespace trainyard::base
