// SPDX-License-Identifier: GPL-3.0-or-later
// Reference implementation of Compute in plain loops, fp64 and fp32: the oracle for every backend.
// Deliberately simple and slow. Arithmetic is in double for every stored type, except `sum`, whose
// rounding is specified.
#pragma once

#include <memory>

#include "core/compute/compute.h"

namespace trainyard::compute::reference {

std::unique_ptr<Compute> make();

}  // namespace trainyard::compute::reference
