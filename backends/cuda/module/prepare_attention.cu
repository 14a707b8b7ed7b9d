// SPDX-License-Identifier: GPL-3.0-or-later
// Prepares ops of attention.
#include "backends/cuda/module/kernels/attention.h"
#include "backends/cuda/module/prepare_family.h"

namespace trainyard::cuda {

template base::Result<Run> prepare_op(Device&, const compute::AttentionForward&);
template base::Result<Run> prepare_op(Device&, const compute::AttentionBackward&);

}  // namespace trainyard::cuda
