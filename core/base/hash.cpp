// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/hash.h"

#include <xxhash.h>

#include <array>

namespace trainyard::base {
namespace {

constexpr std::uint32_t kCastagnoliReversed = 0x82F63B78;

// Returns eight tables, with which a step folds eight bytes ("slicing by 8", Kounavis and Berry
// 2005).
constexpr auto make_tables() {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kCastagnoliReversed : 0);
    tables[0][i] = crc;
  }
  for (std::size_t t = 1; t < 8; ++t)
    for (std::size_t i = 0; i < 256; ++i)
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xFF];
  return tables;
}
constexpr auto kTables = make_tables();

}  // namespace

std::uint64_t xxh64(std::span<const std::byte> data) { return XXH64(data.data(), data.size(), 0); }
std::uint64_t xxh64(std::string_view text) {
  return xxh64(std::as_bytes(std::span(text.data(), text.size())));
}

std::string hex(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

ContentHasher::ContentHasher() : state_(XXH3_createState()) {
  XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_.get()));
}

void ContentHasher::Free::operator()(void* state) const {
  XXH3_freeState(static_cast<XXH3_state_t*>(state));
}

void ContentHasher::add(std::string_view bytes) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state_.get()), bytes.data(), bytes.size());
}

std::string ContentHasher::hash() const {
  const XXH128_hash_t digest = XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_.get()));
  return hex(digest.high64) + hex(digest.low64);
}

std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t previous) {
  std::uint32_t crc = ~previous;
  while (data.size() >= 8) {
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const auto byte =
          std::to_integer<std::uint32_t>(data[i]) ^ (i < 4 ? (crc >> (8 * i)) & 0xFF : 0);
      next ^= kTables[7 - i][byte];
    }
    crc = next;
    data = data.subspan(8);
  }
  for (const std::byte byte : data)
    crc = (crc >> 8) ^ kTables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFF];
  return ~crc;
}

}  // namespace trainyard::base
