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

TEST_F(Quota, is_unlimited_without_a_limit_of_the_cgroup) {
  EXPECT_EQ(of("/a/b"), 0);
  set("a", "max 100000");
  EXPECT_EQ(of("/a/b"), 0);
  EXPECT_EQ(of("/no/such/group"), 0);
  EXPECT_EQ(of(""), 0);
}

TEST_F(Quota, is_the_lowest_limit_of_the_cgroup_and_its_parents) {
  set("a/b", "250000 100000");
  EXPECT_EQ(of("/a/b"), 2.5);
  EXPECT_EQ(of("/a"), 0);
  set("a", "150000 100000");
  EXPECT_EQ(of("/a/b"), 1.5);
  set(".", "800000 100000");
  EXPECT_EQ(of("/a/b"), 1.5);
  EXPECT_EQ(of("/"), 8);
}

TEST_F(Quota, ignores_invalid_limits) {
  for (const char* text : {"", "0 100000", "100000 0", "-5 100000", "lots", "100000"}) {
    set("a", text);
    EXPECT_EQ(of("/a"), 0) << text;
  }
}

TEST_F(Quota, memory_limit_is_the_lowest_of_the_cgroup_and_its_parents) {
  EXPECT_EQ(memory_limit(root_, "/a/b"), 0);
  std::ofstream(root_ / "a" / "b" / "memory.max") << "max\n";
  EXPECT_EQ(memory_limit(root_, "/a/b"), 0);
  std::ofstream(root_ / "a" / "memory.max") << "1073741824\n";
  EXPECT_EQ(memory_limit(root_, "/a/b"), 1 << 30);
  EXPECT_GT(usable_memory(), 0);
}

TEST(UsableCores, are_at_least_one_and_at_most_the_affinity) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), CPU_COUNT(&allowed));
}

}  // namespace
}  // namespace trainyard::base
