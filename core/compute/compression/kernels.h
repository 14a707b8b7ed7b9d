// SPDX-License-Identifier: GPL-3.0-or-later
// Compression kernels for devices whose memory this process can access. All such devices use
// exactly these kernels, because all ranks must decode to the same bits. A kernel runs on one
// thread within `enqueue`, and allocates memory only when it is constructed.
#pragma once

#include <memory>
#include <span>

#include "core/compute/compute.h"
#include "core/compute/ops.h"

namespace trainyard::compute::compression {

// Each returns the kernel of one compression op. The op must have passed `validate`.
std::unique_ptr<Kernel> kernel(const CompressGradient& op);
std::unique_ptr<Kernel> kernel(const DecompressGradient& op);
std::unique_ptr<Kernel> kernel(const PowerSgdLeft& op);
std::unique_ptr<Kernel> kernel(const PowerSgdRight& op);
std::unique_ptr<Kernel> kernel(const PowerSgdDecode& op);

// Implements `Compute::sum` for fp16 and bf16. For other dtypes returns false and does nothing.
bool sum_halves(DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
                std::int64_t elements);

}  // namespace trainyard::compute::compression
