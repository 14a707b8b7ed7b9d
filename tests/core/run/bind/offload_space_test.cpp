// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/offload_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/core/run/bind/file_limit.h"
#include "tests/problem_matchers.h"

namespace trainyard::run {
namespace {

using base::Advises;
using base::IsProblem;
using base::Reports;
using testing::AllOf;

Layout of(std::int64_t host, std::int64_t disk) {
  Layout layout;
  layout.host_bytes = host;
  layout.disk_bytes = disk;
  return layout;
}

// Private directory; empty, and removed at the end.
class OffloadSpaceTest : public testing::Test {
 protected:
  OffloadSpaceTest() {
    std::string name = std::filesystem::temp_directory_path() / "offload_space_XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~OffloadSpaceTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

std::vector<std::byte> numbers(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

TEST_F(OffloadSpaceTest, returns_what_was_offloaded) {
  const auto space = OffloadSpace::make(of(100, 10'000), directory_, "rank 0").value();
  const auto written = numbers(5000);
  ASSERT_TRUE(space.write(4000, written));
  std::vector<std::byte> read(5000);
  ASSERT_TRUE(space.read(4000, read));
  EXPECT_EQ(read, written);
  EXPECT_TRUE(std::equal(written.begin(), written.end(), space.disk(4000)))
      << "as a reader of the full buffer sees it";
  EXPECT_EQ(*space.host(99), std::byte{0});
  EXPECT_EQ(*space.disk(0), std::byte{0});
}

TEST_F(OffloadSpaceTest, leaves_no_named_file) {
  const auto space = OffloadSpace::make(of(0, 1000), directory_, "rank 0").value();
  EXPECT_TRUE(std::filesystem::is_empty(directory_)) << "also after a crash";
}

TEST_F(OffloadSpaceTest, creates_no_file_if_nothing_is_offloaded_to_disk) {
  EXPECT_TRUE(OffloadSpace::make(of(1000, 0), directory_ + "/none", "rank 0"));
}

TEST_F(OffloadSpaceTest, reports_why_a_directory_takes_no_file) {
  const auto space = OffloadSpace::make(of(0, 1000), directory_ + "/none", "rank 3");
  ASSERT_FALSE(space);
  EXPECT_THAT(space.error(),
              AllOf(IsProblem("missing_file", "rank 3"), Reports(directory_ + "/none"),
                    Reports(std::strerror(ENOENT)), Advises("training.swap.directory")));
}

TEST_F(OffloadSpaceTest, reports_missing_space_before_any_computation) {
  const FileLimit limit(100'000);
  EXPECT_TRUE(OffloadSpace::make(of(0, 100'000), directory_, "rank 0"));
  const auto space = OffloadSpace::make(of(0, 200'000), directory_, "rank 0");
  ASSERT_FALSE(space);
  EXPECT_THAT(space.error(), AllOf(IsProblem("file_size_limit", "rank 0"), Reports("200 kB"),
                                   Reports(directory_)));
}

TEST_F(OffloadSpaceTest, reports_the_reason_of_a_failed_write) {
  const auto space = OffloadSpace::make(of(0, 200'000), directory_, "rank 0").value();
  const FileLimit limit(50'000);
  const auto bytes = numbers(100'000);
  const auto written = space.write(0, bytes);
  ASSERT_FALSE(written) << "the first half is written, the second is not";
  EXPECT_THAT(written.error(),
              AllOf(IsProblem("file_size_limit", ""), Reports("100 kB"), Reports(directory_)));
  std::vector<std::byte> more(100'000);
  EXPECT_FALSE(space.read(150'000, more)) << "beyond its end";
}

}  // namespace
}  // namespace trainyard::run
