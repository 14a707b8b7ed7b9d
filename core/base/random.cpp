// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/random.h"

#include <cmath>
#include <numbers>

namespace trainyard::base {
namespace {

__extension__ using Wide = unsigned __int128;

double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

}  // namespace

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
