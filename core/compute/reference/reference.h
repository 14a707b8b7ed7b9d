// SPDX-License-Identifier: GPL-3.0-or-later
// Compute in plain loops, fp64 and fp32: the oracle that every backend is compared with. Slow on
// purpose, never clever. Arithmetic is double whatever is stored, but for `sum`, whose rounding is
// part of its meaning.
#pragma once

#include <memory>

#include "core/compute/compute.h"

namespace trainyard::compute::reference {

std::unique_ptr<Compute> make();

}  // namespace trainyard::compute::reference
