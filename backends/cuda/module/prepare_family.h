// SPDX-License-Identifier: GPL-3.0-or-later
// Definition of the template prepare_op. Include it after the kernels of a family of ops.
#pragma once

#include "backends/cuda/module/prepare_op.h"

namespace trainyard::cuda {

// True if the op computes in fp64. Ops of all other dtypes compute in fp32.
template <class OneOp>
bool is_double(const OneOp& op) {
  DType dtype = DType::fp32;
  if constexpr (requires { op.common; }) dtype = op.common.parameters.dtype;
  else if constexpr (requires { op.logits; }) dtype = op.logits.dtype;
  else if constexpr (requires { op.left; }) dtype = op.left.dtype;
  else if constexpr (requires { op.samples, op.table; }) dtype = op.samples.dtype;
  else if constexpr (requires { op.input; }) dtype = op.input.dtype;
  else if constexpr (requires { op.gradient; }) dtype = op.gradient.dtype;
  else if constexpr (requires { op.output_gradient; }) dtype = op.output_gradient.dtype;
  return dtype == DType::fp64;
}
inline bool is_double(const compute::WeightedSum& op) { return op.output.dtype == DType::fp64; }
inline bool is_double(const compute::PoolBackward& op) {
  return op.output_gradient.dtype == DType::fp64;
}

// Prepares an op. It may consist of several runs, need scratch memory, or need no memory besides
// its tensors.
template <class W, class OneOp>
base::Result<Run> make_any(Device& device, const OneOp& op) {
  if constexpr (requires { make<W>(device, op); }) {
    return make<W>(device, op);
  } else if constexpr (requires { scratch_bytes(op); }) {
    auto memory = device.allocate_zeros(scratch_bytes(op));
    if (!memory) return base::fail(memory.error());
    return Run([op, memory = *memory](Stream& stream) { run<W>(stream, op, memory.get()); });
  } else {
    return run_of<W>(op);
  }
}

template <class OneOp>
base::Result<Run> prepare_op(Device& device, const OneOp& op) {
  return is_double(op) ? make_any<double>(device, op) : make_any<float>(device, op);
}

}  // namespace trainyard::cuda
