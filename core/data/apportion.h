// SPDX-License-Identifier: GPL-3.0-or-later
// Apportionment: integer parts of a total in proportion to real weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"

namespace trainyard::data {

// Divides `total` into parts in proportion to the weights, at least one of which must be above 0.
// Uses largest remainders (Hamilton's method); ties go to the first.
std::vector<std::int64_t> apportion(std::int64_t total, std::span<const double> weights);

// Draws from the symmetric Dirichlet distribution with this concentration. The `count` weights are
// scaled so that the largest is 1. Uses the random numbers of `random` with index 2^32 and above,
// which permutations of fewer than 2^32 items do not use.
std::vector<double> dirichlet(const base::Random& random, double alpha, std::int64_t count);

}  // namespace trainyard::data
