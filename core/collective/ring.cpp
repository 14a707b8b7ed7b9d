// SPDX-License-Identifier: GPL-3.0-or-later
// Ring all-reduce (Patarasuk and Yuan 2009). Each member passes chunks to the next in the ring. In
// round t of the reduce-scatter, member p sends chunk p - t - 1 and adds the received data to chunk
// p - t - 2; after n - 1 rounds it owns the sum of chunk p. The all-gather passes the sums once
// around the ring. Rounds: 2 (n - 1). Member p sends every chunk twice, except two that it sends
// once: chunk p (only in the all-gather) and chunk p + 1 (only in the reduce-scatter). Total: 2 S -
// c[p] - c[p + 1].
#include "core/collective/member_ring.h"

namespace trainyard::collective {

Rounds ring_reduce_scatter(const MemberRing& c) {
  Rounds rounds;
  for (int t = 0; t < c.size() - 1; ++t)
    rounds.push_back({{StepKind::send, c.at(c.self + 1), c.chunk(c.self - t - 1), c.width},
                      {StepKind::recv_reduce, c.at(c.self - 1), c.chunk(c.self - t - 2), c.width}});
  return rounds;
}

Rounds ring_all_gather(const MemberRing& c) {
  Rounds rounds;
  for (int t = 0; t < c.size() - 1; ++t)
    rounds.push_back({{StepKind::send, c.at(c.self + 1), c.chunk(c.self - t), c.width},
                      {StepKind::recv, c.at(c.self - 1), c.chunk(c.self - t - 1), c.width}});
  return rounds;
}

Rounds ring(const Formation& formation, int position) {
  const MemberRing circle = full_ring(formation, position);
  Rounds rounds = ring_reduce_scatter(circle);
  append(rounds, ring_all_gather(circle));
  return rounds;
}

}  // namespace trainyard::collective
