// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/own_memory.h"

namespace trainyard::run {

base::Result<OwnMemory> OwnMemory::make(const Layout& layout, compute::Compute& compute, const std::string& where) {
  OwnMemory own;
  const std::int64_t apart = compute.on_host() ? 0 : layout.result_bytes;
  auto memory = compute.allocate(layout.private_bytes - apart, where);
  if (!memory) return base::fail(memory.error());
  own.memory_ = std::move(*memory);
  own.bytes_ = static_cast<std::size_t>(layout.private_bytes - apart);
  if (apart == 0) return own;
  return compute.allocate_at_hand(apart, where).map([&](compute::Memory at_hand) {
    own.at_hand_ = std::move(at_hand);
    return own;
  });
}

}  // namespace trainyard::run
