// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/memory_use.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "core/compute/memory.h"

namespace trainyard::run {
namespace {

TEST(MemoryUse, is_described_by_purpose) {
  EXPECT_EQ(describe({{4'000'000, 0, 2'000'000, 0, 0}}), "6 MB: parameters 4 MB, moments 2 MB");
}

TEST(ResidentBytes, count_only_touched_pages) {
  constexpr std::int64_t kBytes = 1 << 20, kPage = 4096;
  void* mapped =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ::madvise(mapped, kBytes, MADV_NOHUGEPAGE);
  auto* bytes = static_cast<std::byte*>(mapped);
  EXPECT_EQ(resident_of(bytes, kBytes), 0);
  for (std::int64_t page = 0; page < 3; ++page) bytes[page * kPage] = std::byte{1};
  EXPECT_EQ(resident_of(bytes, kBytes), 3 * kPage);
  EXPECT_EQ(resident_of(bytes + 100, 2 * kPage), 2 * kPage);
  EXPECT_EQ(resident_of(bytes + 100, kBytes - 100), 3 * kPage - 100);
  ::munmap(mapped, kBytes);
  const auto memory = compute::allocate(kBytes, "test");
  ASSERT_TRUE(memory);
  EXPECT_EQ(resident_of(memory->get(), kBytes), kBytes);
}

}  // namespace
}  // namespace trainyard::run
