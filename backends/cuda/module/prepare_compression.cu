// SPDX-License-Identifier: GPL-3.0-or-later
// Prepares ops of gradient compression.
#include "backends/cuda/module/kernels/compress.h"
#include "backends/cuda/module/kernels/power_sgd.h"
#include "backends/cuda/module/prepare_family.h"

namespace trainyard::cuda {

template base::Result<Run> prepare_op(Device&, const compute::CompressGradient&);
template base::Result<Run> prepare_op(Device&, const compute::DecompressGradient&);
template base::Result<Run> prepare_op(Device&, const compute::PowerSgdLeft&);
template base::Result<Run> prepare_op(Device&, const compute::PowerSgdRight&);
template base::Result<Run> prepare_op(Device&, const compute::PowerSgdDecode&);

}  // namespace trainyard::cuda
