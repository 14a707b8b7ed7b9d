// SPDX-License-Identifier: GPL-3.0-or-later
// Prepares only attention, of all ops of backends/cuda/module/prepare.cu.
#include "backends/cuda/module/prepare.h"

#include "backends/cuda/module/kernels/attention.h"

namespace trainyard::cuda {
namespace {

using base::Result;

template <class OneOp>
Result<Run> make_any(Device& device, const OneOp& op) {
  if constexpr (requires { make<float>(device, op); }) return make<float>(device, op);
  else
    return base::fail(
        {"made_by_test", base::ProblemCode::bad_input, "op", "is no attention", "", ""});
}

}  // namespace

Result<std::unique_ptr<compute::Kernel>> prepare(Device& device, const compute::Op& op) {
  auto made = std::visit([&](const auto& one) { return make_any(device, one); }, op);
  if (!made) return base::fail(made.error());
  return std::make_unique<StreamKernel>(std::move(*made));
}

void sum(Stream&, DType, std::byte*, std::span<const std::byte* const>, std::int64_t) {}
void decode(Stream&, const compute::Tensor&, const std::uint8_t*, const float*) {}

}  // namespace trainyard::cuda
