// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/copy.h"

#include <algorithm>
#include <cstring>

#include "core/base/clock.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace trainyard::cpu {
namespace {

// Copies of fewer bytes always go through the caches, because their data is read soon.
constexpr std::int64_t kLong = 4096;
constexpr std::int64_t kLine = 64;

#if defined(__SSE2__)
// Copies full cache lines with non-temporal stores. `destination` must be at the start of a cache
// line. Returns the number of bytes copied.
std::int64_t copy_lines_past_caches(std::byte* destination, const std::byte* source,
                                    std::int64_t bytes) {
  std::int64_t done = 0;
  for (; done + kLine <= bytes; done += kLine) {
    const auto* from = reinterpret_cast<const __m128i*>(source + done);
    auto* to = reinterpret_cast<__m128i*>(destination + done);
    const __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1),
                  c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
  _mm_sfence();  // makes the stores visible to other cores before the caller announces the data
  return done;
}
#else
std::int64_t copy_lines_past_caches(std::byte*, const std::byte*, std::int64_t) { return 0; }
#endif

void copy_through_caches(std::byte* destination, const std::byte* source, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(destination, source, static_cast<std::size_t>(bytes));
}

}  // namespace

void copy(std::byte* destination, const std::byte* source, std::int64_t bytes, CopyMethod way) {
  if (way == CopyMethod::through_caches) return copy_through_caches(destination, source, bytes);
  const std::int64_t unaligned = std::min(
      bytes, static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(destination) % kLine));
  copy_through_caches(destination, source, unaligned);
  const std::int64_t done =
      unaligned +
      copy_lines_past_caches(destination + unaligned, source + unaligned, bytes - unaligned);
  copy_through_caches(destination + done, source + done, bytes - done);
}

// Returns which of the two methods to try next, in the order of the Thue-Morse sequence. If two
// copies of one length class alternate within a step, each is then measured with both methods.
CopyMethod CopyPathTuner::next(std::int64_t bytes) const {
  const CopyTimes& of = known(bytes);
  const int tries = of.tries.load(std::memory_order_relaxed);
  if (tries < kTries)
    return std::popcount(static_cast<unsigned>(tries)) % 2 == 0 ? CopyMethod::through_caches
                                                                : CopyMethod::past_caches;
  return of.least[1].load(std::memory_order_relaxed) < of.least[0].load(std::memory_order_relaxed)
             ? CopyMethod::past_caches
             : CopyMethod::through_caches;
}

void CopyPathTuner::took(std::int64_t bytes, CopyMethod way, std::int64_t nanoseconds) {
  CopyTimes& of = by_length_[length_class(bytes)];
  std::atomic<double>& least = of.least[static_cast<std::size_t>(way)];
  least.store(std::min(least.load(std::memory_order_relaxed),
                       static_cast<double>(nanoseconds) / static_cast<double>(bytes)),
              std::memory_order_relaxed);
  of.tries.fetch_add(1, std::memory_order_relaxed);
}

void Copier::copy(std::byte* destination, const std::byte* source, std::int64_t bytes) {
  if (bytes < kLong) return copy_through_caches(destination, source, bytes);
  const CopyMethod way = choice_.next(bytes);
  if (choice_.decided(bytes)) return cpu::copy(destination, source, bytes, way);
  const std::int64_t begin = base::now_nanoseconds();
  cpu::copy(destination, source, bytes, way);
  choice_.took(bytes, way, base::now_nanoseconds() - begin);
}

}  // namespace trainyard::cpu
