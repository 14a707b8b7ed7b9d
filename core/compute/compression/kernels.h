// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels of compression for devices whose memory this process can touch. Every such device
// uses these very ones: what travels must mean the same to all ranks. They run within `enqueue`, in
// one thread, and allocate when they are made only.
#pragma once

#include <memory>
#include <span>

#include "core/compute/compute.h"

namespace trainyard::compute::compression {

// Of ops that are valid.
std::unique_ptr<Kernel> kernel(const CompressGradient& op);
std::unique_ptr<Kernel> kernel(const DecompressGradient& op);
std::unique_ptr<Kernel> kernel(const PowerSgdLeft& op);
std::unique_ptr<Kernel> kernel(const PowerSgdRight& op);
std::unique_ptr<Kernel> kernel(const PowerSgdDecode& op);

// Compute::sum of fp16 and bf16; of other dtypes nothing is done, and the answer is false.
bool sum_halves(DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
                std::int64_t elements);

}  // namespace trainyard::compute::compression
