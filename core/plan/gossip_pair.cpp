// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/gossip_pair.h"

#include "core/base/random.h"

namespace trainyard::plan {

std::size_t GossipPair::choice(std::int64_t step) const {
  const base::Random random(static_cast<std::uint64_t>(seed), base::Purpose::gossip,
                            static_cast<std::uint32_t>(active));
  return static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(step), passive.size()));
}

}  // namespace trainyard::plan
