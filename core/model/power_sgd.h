// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/compute/compression/power_sgd_layout.h"
#include "core/model/model.h"

namespace trainyard::model {

// Layout of the parameters in elements [first, first + count) of the flat buffer: a weight is a
// matrix [first extent, product of the others], everything else a vector. No parameter may cross
// the ends.
compute::compression::PowerSgdLayout power_sgd_layout(const Model& model, std::int64_t first,
                                                      std::int64_t count, std::int64_t rank);

}  // namespace trainyard::model
