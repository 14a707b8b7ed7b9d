// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/names.h"

namespace trainyard::base {

// Reduction of a collective: how the members' numbers are combined. min and max return NaN if any
// operand is NaN, so that no rank hides a NaN of another.
enum class Reduction : std::uint8_t {
  sum,
  mean,  // the sum; divided by the number of members once, at the end
  min,
  max,
};

template <>
struct Names<Reduction> {
  static constexpr std::pair<Reduction, std::string_view> table[] = {{Reduction::sum, "sum"},
                                                                     {Reduction::mean, "mean"},
                                                                     {Reduction::min, "min"},
                                                                     {Reduction::max, "max"}};
};

}  // namespace trainyard::base
