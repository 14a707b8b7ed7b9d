// SPDX-License-Identifier: GPL-3.0-or-later
// One number of any dtype at a time: what lay in memory, and what Compute::sum would make of it.
// Every number of every dtype is a double, exactly.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/dtype.h"

namespace trainyard::compute {

double number_at(base::DType dtype, const std::byte* bytes);

// How Compute::sum adds two numbers of the dtype, to the bit; null for `byte`, which nothing adds
// up.
using Adding = double (*)(double, double);
Adding adding_in(base::DType dtype);

// The same bits, where both are numbers of one dtype; any NaN is any other.
bool same_number(double a, double b);

}  // namespace trainyard::compute
