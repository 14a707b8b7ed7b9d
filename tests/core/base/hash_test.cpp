// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace trainyard::base {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// RFC 3720, B.4, and the check value of CRC-32C in the catalogue of parametrised CRCs.
TEST(Crc32c, gives_the_known_answers) {
  EXPECT_EQ(crc32c(bytes("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xFF})), 0x62A8AB43u);
}

TEST(Crc32c, continues_over_pieces_of_any_size) {
  const std::string text = "a frame that was cut in two at an arbitrary place";
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32c(bytes(text).subspan(cut), crc32c(bytes(text).first(cut))), crc32c(bytes(text)))
        << cut;
}

TEST(Crc32c, detects_every_flipped_bit) {
  std::string text = "nineteen bytes long";
  const std::uint32_t whole = crc32c(bytes(text));
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(crc32c(bytes(text)), whole) << bit;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
  }
}

// The specification of xxHash: XXH64 of nothing, seed 0; and a value of its sanity tables.
TEST(Xxh64, gives_the_known_answers) {
  EXPECT_EQ(xxh64(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(xxh64("abc"), 0x44BC2CF5AD770999u);
}

TEST(Hex, is_sixteen_lower_case_digits) {
  EXPECT_EQ(hex(0), "0000000000000000");
  EXPECT_EQ(hex(0xFEDCBA9876543210u), "fedcba9876543210");
}

}  // namespace
}  // namespace trainyard::base
