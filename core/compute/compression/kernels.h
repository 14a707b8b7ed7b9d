// SPDX-License-Identifier: GPL-3.0-or-later
// Compression kernels for devices whose memory this process can access. All such devices use
// exactly these kernels, because all ranks must decode alike. They run within `enqueue`,
// single-threaded, and allocate only when constructed.
#pragma once

#include <memory>
#include <span>

#include "core/compute/compute.h"
#include "core/compute/ops.h"

namespace trainyard::compute::compression {

// Expects valid ops.
std::unique_ptr<Kernel> kernel(const CompressGradient& op);
std::unique_ptr<Kernel> kernel(const DecompressGradient& op);
std::unique_ptr<Kernel> kernel(const PowerSgdLeft& op);
std::unique_ptr<Kernel> kernel(const PowerSgdRight& op);
std::unique_ptr<Kernel> kernel(const PowerSgdDecode& op);

// `Compute::sum` for fp16 and bf16; for other dtypes does nothing and returns false.
bool sum_halves(DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
                std::int64_t elements);

}  // namespace trainyard::compute::compression
