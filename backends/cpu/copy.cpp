// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/copy.h"

#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace trainyard::cpu {
namespace {

#if defined(__SSE2__)
constexpr std::int64_t kLong = 4096;  // below, what is copied is soon read from the cache
constexpr std::int64_t kLine = 64;

// Whole lines, from the beginning of one on; how many bytes those were.
std::int64_t copy_past_caches(std::byte* destination, const std::byte* source, std::int64_t bytes) {
  std::int64_t done = 0;
  for (; done + kLine <= bytes; done += kLine) {
    const auto* from = reinterpret_cast<const __m128i*>(source + done);
    auto* to = reinterpret_cast<__m128i*>(destination + done);
    const __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1), c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
  _mm_sfence();  // before anybody is told of it
  return done;
}
#endif

void copy_through_caches(std::byte* destination, const std::byte* source, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(destination, source, static_cast<std::size_t>(bytes));
}

}  // namespace

void copy(std::byte* destination, const std::byte* source, std::int64_t bytes) {
#if defined(__SSE2__)
  if (bytes >= kLong) {
    const auto unaligned = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(destination) % kLine);
    copy_through_caches(destination, source, unaligned);
    const std::int64_t done = unaligned + copy_past_caches(destination + unaligned, source + unaligned, bytes - unaligned);
    return copy_through_caches(destination + done, source + done, bytes - done);
  }
#endif
  copy_through_caches(destination, source, bytes);
}

}  // namespace trainyard::cpu
