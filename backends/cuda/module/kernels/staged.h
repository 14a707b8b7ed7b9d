// SPDX-License-Identifier: GPL-3.0-or-later
// Ops that the host computes: compression of gradients, by the very kernels that every device of a run uses (core/compute/compression/kernels.h), since what
// travels must mean the same to all. Their tensors are brought to the host and back, in the order of the stream.
#pragma once

#include <vector>

#include "backends/cuda/module/device.h"
#include "backends/cuda/module/kernels/linear.h"
#include "core/compute/compression/kernels.h"
#include "core/compute/immediate_queue.h"

namespace trainyard::cuda {

using compute::Use;

inline constexpr Use kRead{true, false}, kWritten{false, true}, kChanged{true, true};

// visit(tensor, use) of all tensors of an op, also of those that are left out.
template <class Visit>
void for_staged(compute::CompressGradient& op, const Visit& visit) {
  visit(op.gradient, kRead), visit(op.residual, kChanged), visit(op.encoded, kWritten), visit(op.squared_error, kWritten), visit(op.step, kRead);
}
template <class Visit>
void for_staged(compute::DecompressGradient& op, const Visit& visit) {
  visit(op.encoded, kRead), visit(op.gradient, kWritten), visit(op.step, kRead);
}
template <class Visit>
void for_staged(compute::PowerSgdLeft& op, const Visit& visit) {
  visit(op.gradient, kRead), visit(op.residual, kChanged), visit(op.guess, kRead), visit(op.left, kChanged);
}
template <class Visit>
void for_staged(compute::PowerSgdRight& op, const Visit& visit) {
  visit(op.source, kRead), visit(op.left, kRead), visit(op.basis, kChanged), visit(op.right, kChanged);
}
template <class Visit>
void for_staged(compute::PowerSgdDecode& op, const Visit& visit) {
  visit(op.left, kRead), visit(op.basis, kRead), visit(op.right, kRead), visit(op.gradient, kChanged), visit(op.residual, kChanged);
  visit(op.guess, kChanged), visit(op.squared_error, kWritten);
}

template <class OneOp>
base::Result<Run> make_staged(Device& device, OneOp op) {
  std::vector<Memory> memory;
  std::vector<Run> there, back;
  base::Result<void> fits;
  for_staged(op, [&](Tensor& tensor, Use use) {
    if (tensor.empty() || !fits) return;
    auto host = device.allocate_on_host(tensor.bytes());
    if (!host) return void(fits = base::fail(host.error()));
    if (use.read) there.push_back(device.copy(host->get(), tensor.data, tensor.bytes()));
    if (use.written) back.push_back(device.copy(tensor.data, host->get(), tensor.bytes()));
    tensor.data = host->get();
    memory.push_back(std::move(*host));
  });
  if (!fits) return base::fail(fits.error());
  auto queue = std::make_shared<compute::ImmediateQueue>();
  there.push_back(device.call([kernel = std::shared_ptr(compute::compression::kernel(op)), queue] { kernel->enqueue(*queue); }));
  there.insert(there.end(), back.begin(), back.end());
  return keeping(std::move(memory), in_order(std::move(there)));
}

template <class>
base::Result<Run> make(Device& device, const compute::CompressGradient& op) {
  return make_staged(device, op);
}
template <class>
base::Result<Run> make(Device& device, const compute::DecompressGradient& op) {
  return make_staged(device, op);
}
template <class>
base::Result<Run> make(Device& device, const compute::PowerSgdLeft& op) {
  return make_staged(device, op);
}
template <class>
base::Result<Run> make(Device& device, const compute::PowerSgdRight& op) {
  return make_staged(device, op);
}
template <class>
base::Result<Run> make(Device& device, const compute::PowerSgdDecode& op) {
  return make_staged(device, op);
}

}  // namespace trainyard::cuda
