// SPDX-License-Identifier: GPL-3.0-or-later
// Preparation of one op. Each prepare_FAMILY.cu includes the kernels of a family and instantiates
// the template for its ops, so that the families compile in parallel.
#pragma once

#include "backends/cuda/module/device.h"
#include "core/compute/ops.h"

namespace trainyard::cuda {

template <class OneOp>
base::Result<Run> prepare_op(Device& device, const OneOp& op);

}  // namespace trainyard::cuda
