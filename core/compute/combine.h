// SPDX-License-Identifier: GPL-3.0-or-later
// What the adding op of a collective does where it does not add.
#pragma once

#include <cstddef>
#include <span>

#include "core/base/reduction.h"
#include "core/compute/compute.h"

namespace trainyard::compute {

// destination[i] = sources[0][i] combined with sources[1][i], ..., in that order, as Compute::sum:
// sum and mean add by it. Numbers lie in memory that this process can read; fp32 and fp64.
void combine(Compute& compute, base::Reduction reduction, DType dtype, std::byte* destination,
             std::span<const std::byte* const> sources, std::int64_t elements);

// The smaller or larger of two arrays, without a device; `reduction` is min or max.
void choose(base::Reduction reduction, DType dtype, std::byte* destination, const std::byte* a,
            const std::byte* b, std::int64_t elements);

// gradient[i] += lambda gradient[i]^2 (now[i] - then[i]): what becomes of a gradient that was
// computed by `then`, to first order and with the outer product of the gradient for the Hessian
// (DC-ASGD: Zheng et al. 2017, eq. 10). In double, rounded once, by the host; fp32 and fp64.
void compensate(Compute& compute, DType dtype, std::byte* gradient, const std::byte* now,
                const std::byte* then, double lambda, std::int64_t elements);

// The end of a mean: data[i] / members, each rounded once.
void divide(DType dtype, std::byte* data, std::int64_t elements, std::int64_t members);

}  // namespace trainyard::compute
