// SPDX-License-Identifier: GPL-3.0-or-later
// Prepares ops of row norms, the loss and optimizers.
#include "backends/cuda/module/kernels/loss.h"
#include "backends/cuda/module/kernels/rows.h"
#include "backends/cuda/module/kernels/update.h"
#include "backends/cuda/module/prepare_family.h"

namespace trainyard::cuda {

template base::Result<Run> prepare_op(Device&, const compute::RowNormForward&);
template base::Result<Run> prepare_op(Device&, const compute::RowNormBackwardWeight&);
template base::Result<Run> prepare_op(Device&, const compute::RowNormBackwardInput&);
template base::Result<Run> prepare_op(Device&, const compute::SoftmaxCrossEntropy&);
template base::Result<Run> prepare_op(Device&, const compute::SoftmaxSummary&);
template base::Result<Run> prepare_op(Device&, const compute::SoftmaxCrossEntropyPart&);
template base::Result<Run> prepare_op(Device&, const compute::SquaredNorm&);
template base::Result<Run> prepare_op(Device&, const compute::ClipFactor&);
template base::Result<Run> prepare_op(Device&, const compute::SgdUpdate&);
template base::Result<Run> prepare_op(Device&, const compute::AdamUpdate&);

}  // namespace trainyard::cuda
