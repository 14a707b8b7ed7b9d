// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/random.h"

#include <cmath>
#include <numbers>

namespace trainyard::base {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

std::uint32_t high(std::uint32_t a, std::uint32_t b) { return static_cast<std::uint32_t>((std::uint64_t{a} * b) >> 32); }

double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

}  // namespace

Random::Random(std::uint64_t seed, Purpose purpose, std::uint32_t item) : seed_(seed), purpose_(static_cast<std::uint32_t>(purpose)), item_(item) {}

std::array<std::uint32_t, 4> Random::block(std::uint64_t element) const {
  std::array<std::uint32_t, 4> c{static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32), item_, purpose_};
  std::uint32_t key0 = static_cast<std::uint32_t>(seed_), key1 = static_cast<std::uint32_t>(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    c = {high(kMultiplier1, c[2]) ^ c[1] ^ key0, kMultiplier1 * c[2], high(kMultiplier0, c[0]) ^ c[3] ^ key1, kMultiplier0 * c[0]};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return c;
}

std::uint64_t Random::bits(std::uint64_t element) const {
  const auto words = block(element);
  return (std::uint64_t{words[1]} << 32) | words[0];
}

double Random::uniform(std::uint64_t element) const { return unit(bits(element)); }

double Random::uniform(std::uint64_t element, double low, double high_end) const { return low + (high_end - low) * uniform(element); }

double Random::normal(std::uint64_t element) const {
  const auto words = block(element);
  const double radius = unit((std::uint64_t{words[1]} << 32) | words[0]);
  const double angle = unit((std::uint64_t{words[3]} << 32) | words[2]);
  return std::sqrt(-2.0 * std::log1p(-radius)) * std::cos(2.0 * std::numbers::pi * angle);
}

std::uint64_t Random::below(std::uint64_t element, std::uint64_t bound) const {
  return static_cast<std::uint64_t>((static_cast<Wide>(bits(element)) * bound) >> 64);
}

}  // namespace trainyard::base
