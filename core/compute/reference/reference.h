// SPDX-License-Identifier: GPL-3.0-or-later
// Reference implementation of Compute in plain loops, for fp64 and fp32. Tests compare every
// backend with it. It is deliberately simple and slow. It computes in double for every stored type,
// except in `sum`, whose rounding is specified.
#pragma once

#include <memory>

#include "core/compute/compute.h"

namespace trainyard::compute::reference {

std::unique_ptr<Compute> make();

}  // namespace trainyard::compute::reference
