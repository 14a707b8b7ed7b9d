// SPDX-License-Identifier: GPL-3.0-or-later
// View of some feature columns of a data set, for a rank in vertical sharding.
#pragma once

#include <memory>
#include <utility>

#include "core/data/dataset.h"

namespace trainyard::data {

// Returns {first, count} of the columns of `rank`. They are contiguous; the column counts of two
// ranks differ by at most one.
std::pair<std::int64_t, std::int64_t> columns_of(std::int64_t features, std::int64_t ranks,
                                                 std::int64_t rank);

// Returns a view with the same samples and labels, but only the features [first, first + count),
// which must exist. Its sample shape is {count}.
std::shared_ptr<const Dataset> only_columns(std::shared_ptr<const Dataset> all, std::int64_t first,
                                            std::int64_t count);

}  // namespace trainyard::data
