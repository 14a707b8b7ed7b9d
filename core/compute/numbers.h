// SPDX-License-Identifier: GPL-3.0-or-later
// Single numbers of any dtype: read from memory, and added as `Compute::sum` adds them. Every
// number of every dtype is exactly representable as a double.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/dtype.h"

namespace trainyard::compute {

double number_at(base::DType dtype, const std::byte* bytes);

// Bit-exact addition of two numbers as in `Compute::sum`; null for `byte`, which is never summed.
using Adding = double (*)(double, double);
Adding adding_in(base::DType dtype);

// True if both, as numbers of one dtype, have the same bits; all NaNs are equal.
bool same_number(double a, double b);

}  // namespace trainyard::compute
