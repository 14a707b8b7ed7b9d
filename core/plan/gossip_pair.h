// SPDX-License-Identifier: GPL-3.0-or-later
// Asynchronous pairwise averaging, AD-PSGD (Lian, Zhang, Zhang, Liu 2018, "Asynchronous
// Decentralized Parallel Stochastic Gradient Descent"). Each rank trains at its own speed. A rank
// is active or passive, and neighbors have different roles: the graph is bipartite. In every local
// step an active rank offers its parameters x_a to one neighbor, its partner of the step. The
// partner atomically replaces its parameters x_p by x = (x_a + x_p) / 2 and sends x back. The
// active rank applies its update to x before it makes another offer. So the sum of the two ranks'
// parameters is preserved. The mean of all ranks is preserved, since the pair's mixing matrix is
// the doubly stochastic [1/2 1/2; 1/2 1/2].
//
// No rank deadlocks. During its steps a passive rank never waits for another rank. It answers
// between any two of its ops, while it waits for samples, while it is paused, and after its last
// step. An active rank waits only for its partner's answer. So during steps an active rank may wait
// for a passive rank, but a passive rank never waits for an active one. Therefore waits cannot form
// a cycle.
//
// Between steps, all ranks may form their mean, for which they wait for each other. A passive rank
// first answers all offers of earlier steps. It can compute the number of these offers, because the
// partner is a function of seed, step and rank. It answers offers of later steps once its own next
// step has begun, which depends on no active rank.
#pragma once

#include <cstdint>
#include <vector>

namespace trainyard::plan {

// An active rank and its possible partners.
struct GossipPair {
  std::int32_t active = -1;
  std::vector<std::int32_t> passive;  // possible partners, ascending
  std::int64_t seed = 0;

  // Return the partner of the active rank in a step. `choice` returns its index in `passive`, which
  // must not be empty; `partner` returns its rank.
  std::size_t choice(std::int64_t step) const;
  std::int32_t partner(std::int64_t step) const { return passive[choice(step)]; }
  bool operator==(const GossipPair&) const = default;
};

}  // namespace trainyard::plan
