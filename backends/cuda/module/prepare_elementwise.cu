// SPDX-License-Identifier: GPL-3.0-or-later
// Prepares elementwise ops.
#include "backends/cuda/module/kernels/elementwise.h"
#include "backends/cuda/module/prepare_family.h"

namespace trainyard::cuda {

template <>
base::Result<Run> prepare_op(Device&, const compute::WeightedSum& op) {
  if (op.inputs.size() > WeightedInputs::kMost)
    return base::fail({"too_many_inputs", base::ProblemCode::bad_input, "weighted_sum",
                       "the op has " + std::to_string(op.inputs.size()) + " inputs",
                       "at most " + std::to_string(WeightedInputs::kMost) + " on this device", ""});
  WeightedInputs all;
  all.output = op.output;
  for (std::size_t k = 0; k < op.inputs.size(); ++k, ++all.count)
    all.inputs[k] = op.inputs[k], all.weights[k] = op.weights[k];
  return op.output.dtype == DType::fp64 ? run_of<double>(all) : run_of<float>(all);
}

template base::Result<Run> prepare_op(Device&, const compute::CopyColumns&);
template base::Result<Run> prepare_op(Device&, const compute::ActivationBackward&);
template base::Result<Run> prepare_op(Device&, const compute::GeluForward&);
template base::Result<Run> prepare_op(Device&, const compute::GeluBackward&);
template base::Result<Run> prepare_op(Device&, const compute::Dropout&);
template base::Result<Run> prepare_op(Device&, const compute::Add&);
template base::Result<Run> prepare_op(Device&, const compute::Accumulate&);
template base::Result<Run> prepare_op(Device&, const compute::Copy&);
template base::Result<Run> prepare_op(Device&, const compute::Scale&);
template base::Result<Run> prepare_op(Device&, const compute::Zero&);

}  // namespace trainyard::cuda
