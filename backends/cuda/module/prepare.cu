// SPDX-License-Identifier: GPL-3.0-or-later
// Selects the kernel of each op.
#include "backends/cuda/module/kernels/samples.h"
#include "backends/cuda/module/kernels/sum.h"
#include "backends/cuda/module/prepare.h"
#include "backends/cuda/module/prepare_op.h"
#include "core/compute/validate.h"

namespace trainyard::cuda {

base::Result<std::unique_ptr<compute::Kernel>> prepare(Device& device, const compute::Op& op) {
  if (const auto fits =
          compute::validate(op, [&](const std::byte* place) { return device.reaches(place); });
      !fits)
    return base::fail(fits.error());
  auto made = std::visit([&](const auto& one) { return prepare_op(device, one); }, op);
  if (!made) return base::fail(made.error());
  return std::make_unique<StreamKernel>(std::move(*made));
}

// Sums up to kMaxSources sources with one kernel. Further kernels add the remaining sources to that
// sum, in the same order.
void sum(Stream& stream, DType dtype, std::byte* destination,
         std::span<const std::byte* const> sources, std::int64_t elements) {
  if (sources.size() > kMaxSources) {
    sum(stream, dtype, destination, sources.first(kMaxSources), elements);
    std::vector<const std::byte*> rest{destination};
    rest.insert(rest.end(), sources.begin() + kMaxSources, sources.end());
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
