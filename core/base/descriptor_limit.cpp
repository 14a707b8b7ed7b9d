// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace trainyard::base {
namespace {

constexpr rlim_t kEnough = 1 << 16;

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::max(limit.rlim_cur, std::min(limit.rlim_max, kEnough));
  if (wanted == limit.rlim_cur) return;
  limit.rlim_cur = wanted;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

std::int64_t free_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  const auto used = error ? 0 : std::distance(begin(open), end(open));
  return std::max<std::int64_t>(
      0, static_cast<std::int64_t>(std::min(limit.rlim_cur, kEnough)) - used);
}

}  // namespace trainyard::base
