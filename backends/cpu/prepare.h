// SPDX-License-Identifier: GPL-3.0-or-later
// Preparation of each kind of op on the CPU. See core/compute/ops.h for the semantics of the ops.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "backends/cpu/half_conversion.h"
#include "core/compute/compute.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {

struct Device {
  dnnl::engine engine;
  int cores;
  std::shared_ptr<WideningScratch> widened;  // fp32 copies for ops on 16-bit tensors
};

using PreparedKernel = base::Result<std::unique_ptr<compute::Kernel>>;

PreparedKernel prepare(const compute::LinearForward& op, const Device& device);
PreparedKernel prepare(const compute::LinearBackwardInput& op, const Device& device);
PreparedKernel prepare(const compute::LinearBackwardWeight& op, const Device& device);
PreparedKernel prepare(const compute::EmbeddingBagForward& op, const Device& device);
PreparedKernel prepare(const compute::AddBag& op, const Device& device);
PreparedKernel prepare(const compute::EmbeddingBagBackwardWeight& op, const Device& device);
PreparedKernel prepare(const compute::AddBias& op, const Device& device);
PreparedKernel prepare(const compute::SumRows& op, const Device& device);
PreparedKernel prepare(const compute::CopyColumns& op, const Device& device);
PreparedKernel prepare(const compute::ActivationBackward& op, const Device& device);
PreparedKernel prepare(const compute::Conv2dForward& op, const Device& device);
PreparedKernel prepare(const compute::Conv2dBackwardInput& op, const Device& device);
PreparedKernel prepare(const compute::Conv2dBackwardWeight& op, const Device& device);
PreparedKernel prepare(const compute::PoolForward& op, const Device& device);
PreparedKernel prepare(const compute::PoolBackward& op, const Device& device);
PreparedKernel prepare(const compute::BatchNormSums& op, const Device& device);
PreparedKernel prepare(const compute::BatchNormForward& op, const Device& device);
PreparedKernel prepare(const compute::BatchNormEvaluate& op, const Device& device);
PreparedKernel prepare(const compute::BatchNormBackwardWeight& op, const Device& device);
PreparedKernel prepare(const compute::BatchNormBackwardInput& op, const Device& device);
PreparedKernel prepare(const compute::RowNormForward& op, const Device& device);
PreparedKernel prepare(const compute::RowNormBackwardWeight& op, const Device& device);
PreparedKernel prepare(const compute::RowNormBackwardInput& op, const Device& device);
PreparedKernel prepare(const compute::GeluForward& op, const Device& device);
PreparedKernel prepare(const compute::GeluBackward& op, const Device& device);
PreparedKernel prepare(const compute::AttentionForward& op, const Device& device);
PreparedKernel prepare(const compute::AttentionBackward& op, const Device& device);
PreparedKernel prepare(const compute::Dropout& op, const Device& device);
PreparedKernel prepare(const compute::Add& op, const Device& device);
PreparedKernel prepare(const compute::Accumulate& op, const Device& device);
PreparedKernel prepare(const compute::Copy& op, const Device& device);
PreparedKernel prepare(const compute::Scale& op, const Device& device);
PreparedKernel prepare(const compute::WeightedSum& op, const Device& device);
PreparedKernel prepare(const compute::SoftmaxCrossEntropy& op, const Device& device);
PreparedKernel prepare(const compute::SoftmaxSummary& op, const Device& device);
PreparedKernel prepare(const compute::SoftmaxCrossEntropyPart& op, const Device& device);
PreparedKernel prepare(const compute::SquaredNorm& op, const Device& device);
PreparedKernel prepare(const compute::ClipFactor& op, const Device& device);
PreparedKernel prepare(const compute::Zero& op, const Device& device);
PreparedKernel prepare(const compute::SgdUpdate& op, const Device& device);
PreparedKernel prepare(const compute::AdamUpdate& op, const Device& device);
PreparedKernel prepare(const compute::CompressGradient& op, const Device& device);
PreparedKernel prepare(const compute::DecompressGradient& op, const Device& device);
PreparedKernel prepare(const compute::PowerSgdLeft& op, const Device& device);
PreparedKernel prepare(const compute::PowerSgdRight& op, const Device& device);
PreparedKernel prepare(const compute::PowerSgdDecode& op, const Device& device);

// Kernel that calls a function object: run(queue).
template <class Run>
class FunctionKernel final : public compute::Kernel {
 public:
  explicit FunctionKernel(Run run) : run_(std::move(run)) {}
  void enqueue(compute::Queue& queue) override { run_(queue); }

 private:
  Run run_;
};

template <class Run>
std::unique_ptr<compute::Kernel> make_kernel(Run run) {
  return std::make_unique<FunctionKernel<Run>>(std::move(run));
}

}  // namespace trainyard::cpu
