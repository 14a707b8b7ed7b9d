// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/bound_rank.h"

#include <fmt/core.h>

namespace trainyard::run {

base::Result<void> bind(BoundRank& rank, const BindingParts& parts,
                        const SharedBuffer& shared_buffer) {
  const Layout places = layout(rank.plan);
  const std::string where = fmt::format("rank {}", rank.plan.rank);
  if (!rank.own) {
    auto own = PrivateMemory::make(places, *parts.compute, where);
    if (!own) return base::fail(own.error());
    rank.own = std::move(*own);
  }
  auto offload_space = OffloadSpace::make(places, *parts.offload_directory, where);
  if (!offload_space) return base::fail(offload_space.error());
  rank.offload_space = std::move(*offload_space);
  auto bound = run::bind(rank.plan, *parts.groups, *parts.model, *parts.recipe, *parts.compute,
                         rank.own->arena(), rank.shared, &rank.offload_space, shared_buffer);
  if (!bound) return base::fail(bound.error());
  rank.bound = std::move(*bound);
  return {};
}

}  // namespace trainyard::run
