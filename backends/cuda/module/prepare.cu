// SPDX-License-Identifier: GPL-3.0-or-later
// Selects the kernel of each op.
#include "backends/cuda/module/kernels/attention.h"
#include "backends/cuda/module/kernels/between.h"
#include "backends/cuda/module/kernels/channels.h"
#include "backends/cuda/module/kernels/compress.h"
#include "backends/cuda/module/kernels/convolution.h"
#include "backends/cuda/module/kernels/embedding.h"
#include "backends/cuda/module/kernels/linear.h"
#include "backends/cuda/module/kernels/loss.h"
#include "backends/cuda/module/kernels/pool.h"
#include "backends/cuda/module/kernels/power_sgd.h"
#include "backends/cuda/module/kernels/rows.h"
#include "backends/cuda/module/kernels/samples.h"
#include "backends/cuda/module/kernels/sum.h"
#include "backends/cuda/module/kernels/update.h"
#include "backends/cuda/module/prepare.h"
#include "core/compute/validate.h"

namespace trainyard::cuda {
namespace {

using base::Result;

// True if the op computes in fp64. All other ops compute in fp32.
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
bool is_double(const compute::WeightedSum& op) { return op.output.dtype == DType::fp64; }
bool is_double(const compute::PoolBackward& op) { return op.output_gradient.dtype == DType::fp64; }

// Prepares an op. It may be composed of several runs, need scratch memory, or need no memory beside
// its tensors.
template <class W, class OneOp>
Result<Run> make_any(Device& device, const OneOp& op) {
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

template <class W>
Result<Run> make_any(Device&, const compute::WeightedSum& op) {
  if (op.inputs.size() > Weighted::kMost)
    return base::fail({base::ProblemCode::bad_input, "weighted_sum",
                       "has " + std::to_string(op.inputs.size()) + " inputs",
                       "at most " + std::to_string(Weighted::kMost) + " on this device", ""});
  Weighted all;
  all.output = op.output;
  for (std::size_t k = 0; k < op.inputs.size(); ++k, ++all.count)
    all.inputs[k] = op.inputs[k], all.weights[k] = op.weights[k];
  return run_of<W>(all);
}

}  // namespace

Result<std::unique_ptr<compute::Kernel>> prepare(Device& device, const compute::Op& op) {
  if (const auto fits =
          compute::validate(op, [&](const std::byte* place) { return device.reaches(place); });
      !fits)
    return base::fail(fits.error());
  auto made = std::visit(
      [&](const auto& one) {
        return is_double(one) ? make_any<double>(device, one) : make_any<float>(device, one);
      },
      op);
  if (!made) return base::fail(made.error());
  return std::make_unique<StreamKernel>(std::move(*made));
}

// Sums up to kMostSources sources per kernel. Further sources are added to that sum, in the same
// order.
void sum(Stream& stream, DType dtype, std::byte* destination,
         std::span<const std::byte* const> sources, std::int64_t elements) {
  if (sources.size() > kMostSources) {
    sum(stream, dtype, destination, sources.first(kMostSources), elements);
    std::vector<const std::byte*> rest{destination};
    rest.insert(rest.end(), sources.begin() + kMostSources, sources.end());
    return sum(stream, dtype, destination, rest, elements);
  }
  Sources all{};
  for (const std::byte* const source : sources) all.place[all.count++] = source;
  if (dtype == DType::fp32) add<float>(stream, destination, all, elements, Plus<float>());
  if (dtype == DType::fp64) add<double>(stream, destination, all, elements, Plus<double>());
  if (dtype == DType::int32)
    add<std::uint32_t>(stream, destination, all, elements, Plus<std::uint32_t>());
  if (dtype == DType::fp16)
    add<std::uint16_t>(stream, destination, all, elements,
                       PlusOfHalves<compute::compression::Fp16>());
  if (dtype == DType::bf16)
    add<std::uint16_t>(stream, destination, all, elements,
                       PlusOfHalves<compute::compression::Bf16>());
}

void decode(Stream& stream, const Tensor& to, const std::uint8_t* bytes, const float* value_of) {
  if (to.dtype == DType::fp64) decode_as<double>(stream, to, bytes, value_of);
  else decode_as<float>(stream, to, bytes, value_of);
}

}  // namespace trainyard::cuda
