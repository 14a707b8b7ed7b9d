// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/compute/compression/power_sgd_layout.h"
#include "core/model/model.h"

namespace trainyard::model {

// Returns the PowerSGD layout of the parameters in elements [first, first + count) of the flat
// buffer. A weight is a matrix [first dimension, product of the others]; everything else is a
// vector. The range must not begin or end inside a parameter.
compute::compression::PowerSgdLayout power_sgd_layout(const Model& model, std::int64_t first,
                                                      std::int64_t count, std::int64_t rank);

}  // namespace trainyard::model
