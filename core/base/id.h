// SPDX-License-Identifier: GPL-3.0-or-later
// Strong index types, so that ranks, devices and integers cannot be confused.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace trainyard::base {

template <class Tag>
struct Id {
  std::int32_t value = -1;

  constexpr Id() = default;
  constexpr explicit Id(std::int32_t v) : value(v) {}
  constexpr explicit Id(std::size_t v) : value(static_cast<std::int32_t>(v)) {}
  constexpr bool valid() const { return value >= 0; }
  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
  constexpr auto operator<=>(const Id&) const = default;
};

}  // namespace trainyard::base

template <class Tag>
struct std::hash<trainyard::base::Id<Tag>> {
  std::size_t operator()(trainyard::base::Id<Tag> id) const noexcept {
    return std::hash<std::int32_t>{}(id.value);
  }
};
