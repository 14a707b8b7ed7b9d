// SPDX-License-Identifier: GPL-3.0-or-later
// Prepares ops of images: convolutions, pools and batch normalization.
#include "backends/cuda/module/kernels/channels.h"
#include "backends/cuda/module/kernels/convolution.h"
#include "backends/cuda/module/kernels/pool.h"
#include "backends/cuda/module/prepare_family.h"

namespace trainyard::cuda {

template base::Result<Run> prepare_op(Device&, const compute::Conv2dForward&);
template base::Result<Run> prepare_op(Device&, const compute::Conv2dBackwardInput&);
template base::Result<Run> prepare_op(Device&, const compute::Conv2dBackwardWeight&);
template base::Result<Run> prepare_op(Device&, const compute::PoolForward&);
template base::Result<Run> prepare_op(Device&, const compute::PoolBackward&);
template base::Result<Run> prepare_op(Device&, const compute::BatchNormSums&);
template base::Result<Run> prepare_op(Device&, const compute::BatchNormForward&);
template base::Result<Run> prepare_op(Device&, const compute::BatchNormEvaluate&);
template base::Result<Run> prepare_op(Device&, const compute::BatchNormBackwardWeight&);
template base::Result<Run> prepare_op(Device&, const compute::BatchNormBackwardInput&);

}  // namespace trainyard::cuda
