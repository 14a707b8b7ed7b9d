// SPDX-License-Identifier: GPL-3.0-or-later
// Reduction of the combining op of a collective: sum, mean, min, max, and delay compensation.
#pragma once

#include <cstddef>
#include <span>

#include "core/base/reduction.h"
#include "core/compute/compute.h"

namespace trainyard::compute {

// destination[i] = sources[0][i] combined with sources[1][i], ..., in that order, as
// `Compute::sum`; sum and mean add. Memory must be accessible to this process; fp32 and fp64.
void combine(Compute& compute, base::Reduction reduction, DType dtype, std::byte* destination,
             std::span<const std::byte* const> sources, std::int64_t elements);

// Elementwise minimum or maximum of two arrays, without a device; `reduction` is min or max.
void choose(base::Reduction reduction, DType dtype, std::byte* destination, const std::byte* a,
            const std::byte* b, std::int64_t elements);

// gradient[i] += lambda gradient[i]^2 (now[i] - then[i]): corrects a gradient that was computed
// with the parameters `then`, to first order, with the outer product of the gradient for the
// Hessian (DC-ASGD: Zheng et al. 2017, eq. 10). Computed in double by the host and rounded once;
// fp32 and fp64.
void compensate(Compute& compute, DType dtype, std::byte* gradient, const std::byte* now,
                const std::byte* then, double lambda, std::int64_t elements);

// Finishes a mean: data[i] / members, each rounded once.
void divide(DType dtype, std::byte* data, std::int64_t elements, std::int64_t members);

}  // namespace trainyard::compute
