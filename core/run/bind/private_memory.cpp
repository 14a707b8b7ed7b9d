// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/private_memory.h"

#include "core/compute/ops.h"

namespace trainyard::run {

base::Result<PrivateMemory> PrivateMemory::make(const Layout& layout, compute::Compute& compute,
                                                const std::string& where) {
  PrivateMemory own;
  const std::int64_t apart = compute.on_host() ? 0 : layout.result_bytes;
  auto memory = compute.allocate(layout.private_bytes - apart, where);
  if (!memory) return base::fail(memory.error());
  own.memory_ = std::move(*memory);
  own.bytes_ = static_cast<std::size_t>(layout.private_bytes - apart);
  if (apart == 0) return own;
  return compute.allocate_host_visible(apart, where).map([&](compute::Memory result_memory) {
    own.result_memory_ = std::move(result_memory);
    return own;
  });
}

base::Result<void> clear(compute::Compute& compute, std::span<std::byte> memory) {
  // arena sizes are multiples of kAlignment, so the division below is exact
  static_assert(kAlignment % sizeof(float) == 0);
  const compute::Tensor numbers{compute::DType::fp32,
                                {std::ssize(memory) / static_cast<std::int64_t>(sizeof(float))},
                                memory.data()};
  auto zero = compute.prepare(compute::Zero{numbers});
  if (!zero) return base::fail(zero.error());
  const auto queue = compute.make_queue();
  (*zero)->enqueue(*queue);
  return compute::finish(*queue);
}

}  // namespace trainyard::run
