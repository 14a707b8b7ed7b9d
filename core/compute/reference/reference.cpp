// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/reference/reference.h"

#include <algorithm>
#include <cstring>

#include "core/compute/compression/kernels.h"
#include "core/compute/half_precision.h"
#include "core/compute/immediate_queue.h"
#include "core/compute/reference/attention.h"
#include "core/compute/reference/embedding.h"
#include "core/compute/reference/image.h"
#include "core/compute/reference/linear.h"
#include "core/compute/reference/loss.h"
#include "core/compute/reference/normalization.h"
#include "core/compute/reference/transformer.h"
#include "core/compute/reference/update.h"
#include "core/compute/validate.h"

namespace trainyard::compute::reference {
namespace {

// Returns the dtype of the tensors in which this implementation computes the op.
template <class OneOp>
DType dtype_of(const OneOp& op) {
  return op.input.dtype;
}
DType dtype_of(const ActivationBackward& op) { return op.output.dtype; }
DType dtype_of(const LinearBackwardInput& op) { return op.weight.dtype; }
DType dtype_of(const PoolBackward& op) { return op.input_gradient.dtype; }
DType dtype_of(const Conv2dBackwardInput& op) { return op.weight.dtype; }
DType dtype_of(const Add& op) { return op.left.dtype; }
DType dtype_of(const SoftmaxCrossEntropy& op) { return op.logits.dtype; }
DType dtype_of(const SoftmaxSummary& op) { return op.logits.dtype; }
DType dtype_of(const SoftmaxCrossEntropyPart& op) { return op.logits.dtype; }
DType dtype_of(const WeightedSum& op) { return op.output.dtype; }
DType dtype_of(const SgdUpdate& op) { return op.common.parameters.dtype; }
DType dtype_of(const AdamUpdate& op) { return op.common.parameters.dtype; }

template <class OneOp>
void run_any(const OneOp& op) {
  if (dtype_of(op) == DType::fp64) run<double>(op);
  else run<float>(op);
}
void run_any(const ClipFactor& op) { run(op); }
void run_any(const Zero& op) { run(op); }

template <class OneOp>
class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(const OneOp& op) : op_(op) {}
  void enqueue(Queue&) override { run_any(op_); }

 private:
  OneOp op_;
};

// Kernel that allocates scratch memory once, when it is constructed.
template <class OneOp>
class ScratchKernel final : public Kernel {
 public:
  explicit ScratchKernel(const OneOp& op)
      : op_(op), scratch_(static_cast<std::size_t>(scratch_elements(op))) {}
  void enqueue(Queue&) override {
    dtype_of(op_) == DType::fp64 ? run<double>(op_, scratch_.data())
                                 : run<float>(op_, scratch_.data());
  }

 private:
  OneOp op_;
  std::vector<double> scratch_;
};

template <class OneOp>
std::unique_ptr<Kernel> make_kernel(const OneOp& op);

// Kernel of an op with 16-bit tensors. It holds fp32 copies of these tensors, and a kernel that
// works on the copies.
class WidenedKernel final : public Kernel {
 public:
  template <class OneOp>
  explicit WidenedKernel(OneOp op)
      : passing_(widen(op, [this](std::int64_t elements) { return scratch_floats(elements); })),
        kernel_(make_kernel(op)) {}

  void enqueue(Queue& queue) override {
    for (const Passing& one : passing_)
      if (one.use.read) widen(one.half.dtype, one.half.data, one.wide, one.half.elements());
    kernel_->enqueue(queue);
    for (const Passing& one : passing_)
      if (one.use.written) round(one.half.dtype, one.wide, one.half.data, one.half.elements());
  }

 private:
  float* scratch_floats(std::int64_t elements) {
    return memory_.emplace_back(new float[static_cast<std::size_t>(elements)]).get();
  }

  std::vector<std::unique_ptr<float[]>> memory_;
  std::vector<Passing> passing_;
  std::unique_ptr<Kernel> kernel_;
};

template <class OneOp>
std::unique_ptr<Kernel> make_kernel(const OneOp& op) {
  if (has_half_tensors(op)) return std::make_unique<WidenedKernel>(op);
  if constexpr (requires { scratch_elements(op); })
    return std::make_unique<ScratchKernel<OneOp>>(op);
  else if constexpr (requires { compression::kernel(op); }) return compression::kernel(op);
  else return std::make_unique<ReferenceKernel<OneOp>>(op);
}

// Loads a number from any address, because received data need not be aligned.
template <class T>
T load(const std::byte* source, std::int64_t element) {
  T value;
  std::memcpy(&value, source + element * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Adds the elements of the sources. `T` is the type of the sum; for integers it is unsigned, so
// that sums wrap around.
template <class T>
void sum_elements(T* destination, std::span<const std::byte* const> sources,
                  std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) {
    T sum = load<T>(sources[0], i);
    for (std::size_t s = 1; s < sources.size(); ++s) sum += load<T>(sources[s], i);
    destination[i] = sum;
  }
}

class ReferenceCompute final : public Compute {
 public:
  std::string name() const override { return "reference"; }
  std::unique_ptr<Queue> make_queue() override { return std::make_unique<ImmediateQueue>(); }

  base::Result<std::unique_ptr<Kernel>> prepare(const Op& op) override {
    if (const auto fits = validate(op); !fits) return base::fail(fits.error());
    return std::visit([](const auto& one) { return make_kernel(one); }, op);
  }

  void sum(DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
           std::int64_t elements) override {
    if (dtype == DType::fp32)
      sum_elements(reinterpret_cast<float*>(destination), sources, elements);
    if (dtype == DType::fp64)
      sum_elements(reinterpret_cast<double*>(destination), sources, elements);
    if (dtype == DType::int32)
      sum_elements(reinterpret_cast<std::uint32_t*>(destination), sources, elements);
    compression::sum_halves(dtype, destination, sources, elements);
  }

  void copy(std::byte* destination, const std::byte* source, std::int64_t bytes) override {
    std::copy_n(source, bytes, destination);
  }

  void load(const Tensor& destination, std::span<const float> source) override {
    if (destination.dtype == DType::fp32)
      std::copy(source.begin(), source.end(), destination.as<float>());
    if (destination.dtype == DType::fp64)
      std::copy(source.begin(), source.end(), destination.as<double>());
    if (is_half(destination.dtype))
      round(destination.dtype, source.data(), destination.data, destination.elements());
    if (destination.dtype == DType::int32)
      std::transform(source.begin(), source.end(), destination.as<std::int32_t>(),
                     [](float value) { return static_cast<std::int32_t>(value); });
  }
};

}  // namespace

std::unique_ptr<Compute> make() { return std::make_unique<ReferenceCompute>(); }

}  // namespace trainyard::compute::reference
