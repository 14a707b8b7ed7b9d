// SPDX-License-Identifier: GPL-3.0-or-later
// Prepares ops of linear layers and embeddings.
#include "backends/cuda/module/kernels/embedding.h"
#include "backends/cuda/module/kernels/linear.h"
#include "backends/cuda/module/prepare_family.h"

namespace trainyard::cuda {

template base::Result<Run> prepare_op(Device&, const compute::LinearForward&);
template base::Result<Run> prepare_op(Device&, const compute::LinearBackwardInput&);
template base::Result<Run> prepare_op(Device&, const compute::LinearBackwardWeight&);
template base::Result<Run> prepare_op(Device&, const compute::AddBias&);
template base::Result<Run> prepare_op(Device&, const compute::SumRows&);
template base::Result<Run> prepare_op(Device&, const compute::EmbeddingBagForward&);
template base::Result<Run> prepare_op(Device&, const compute::AddBag&);
template base::Result<Run> prepare_op(Device&, const compute::EmbeddingBagBackwardWeight&);

}  // namespace trainyard::cuda
