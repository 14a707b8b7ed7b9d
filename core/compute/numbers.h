// SPDX-License-Identifier: GPL-3.0-or-later
// Reads single numbers of any dtype from memory, and adds them in the same way as `Compute::sum`.
// Numbers are returned as double, which represents every number of every dtype exactly.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/dtype.h"

namespace trainyard::compute {

double number_at(base::DType dtype, const std::byte* bytes);

// Function that adds two numbers with the same bits as `Compute::sum`; null for `byte`, which is
// never summed.
using Adding = double (*)(double, double);
Adding adding_in(base::DType dtype);

// True if both numbers have the same bits in their dtype. All NaNs count as equal.
bool same_number(double a, double b);

}  // namespace trainyard::compute
