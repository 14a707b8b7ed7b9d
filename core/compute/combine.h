// SPDX-License-Identifier: GPL-3.0-or-later
// Arithmetic on received data: the reductions of collectives (sum, mean, min, max), and delay
// compensation of gradients.
#pragma once

#include <cstddef>
#include <span>

#include "core/base/reduction.h"
#include "core/compute/compute.h"

namespace trainyard::compute {

// Reduces arrays element by element: destination[i] = sources[0][i] combined with sources[1][i],
// and so on, in the order of `Compute::sum`. For a mean it only adds; call `divide` afterwards.
// This process must be able to access the memory. For fp32 and fp64.
void combine(Compute& compute, base::Reduction reduction, DType dtype, std::byte* destination,
             std::span<const std::byte* const> sources, std::int64_t elements);

// Elementwise minimum or maximum of two arrays, without a device; `reduction` is min or max.
void choose(base::Reduction reduction, DType dtype, std::byte* destination, const std::byte* a,
            const std::byte* b, std::int64_t elements);

// gradient[i] += lambda gradient[i]^2 (now[i] - then[i]). To first order, this corrects a gradient
// that was computed with the parameters `then` for the current parameters `now`. The outer product
// of the gradient takes the place of the Hessian (DC-ASGD: Zheng et al. 2017, eq. 10). The host
// computes it in double and rounds once. For fp32 and fp64.
void compensate(Compute& compute, DType dtype, std::byte* gradient, const std::byte* now,
                const std::byte* then, double lambda, std::int64_t elements);

// Completes a mean: data[i] = data[i] / members, rounded once.
void divide(DType dtype, std::byte* data, std::int64_t elements, std::int64_t members);

}  // namespace trainyard::compute
