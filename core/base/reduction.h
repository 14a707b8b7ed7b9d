// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/names.h"

namespace trainyard::base {

// How a collective makes one number of those that its members hold. min and max of numbers of which
// one is not a number (NaN) are not a number, wherever it stands, so that no rank hides what
// another found.
enum class Reduction : std::uint8_t {
  sum,
  mean,  // the sum, divided by the members once, at the end
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
