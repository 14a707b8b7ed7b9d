// SPDX-License-Identifier: GPL-3.0-or-later
// Whole parts of a whole, from shares that are not.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"

namespace trainyard::data {

// `total` in proportion to the weights (at least one above 0), by largest remainders (Hamilton's
// method); of equal ones the first wins.
std::vector<std::int64_t> apportion(std::int64_t total, std::span<const double> weights);

// A draw from the symmetric Dirichlet distribution of this concentration, up to a factor: the
// largest of the `count` weights is 1. Uses the elements of `random` that no permutation of less
// than 2^32 things does.
std::vector<double> dirichlet(const base::Random& random, double alpha, std::int64_t count);

}  // namespace trainyard::data
