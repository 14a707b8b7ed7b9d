// SPDX-License-Identifier: GPL-3.0-or-later
// Ring all-reduce (Patarasuk and Yuan 2009). Members stand in a ring and pass chunks to the next. In round t of the
// reduce-scatter, member p sends chunk p - t and adds the chunk p - t - 1 that arrives; after n - 1 rounds it owns the sum
// of chunk p + 1. The all-gather passes the sums on once around. Rounds: 2 (n - 1). Member p sends every chunk twice but
// two once: p + 1 in the reduce-scatter and p + 2 in the all-gather, so 2 S - c[p + 1] - c[p + 2].
#include "core/collective/algorithm.h"

namespace trainyard::collective {

Rounds ring(int members, int position) {
  const auto wrap = [&](int i) { return ((i % members) + members) % members; };
  const int next = wrap(position + 1), previous = wrap(position - 1);
  Rounds rounds;
  for (int t = 0; t < members - 1; ++t)
    rounds.push_back({{StepKind::send, next, wrap(position - t)}, {StepKind::recv_reduce, previous, wrap(position - t - 1)}});
  for (int t = 0; t < members - 1; ++t) rounds.push_back({{StepKind::send, next, wrap(position + 1 - t)}, {StepKind::recv, previous, wrap(position - t)}});
  return rounds;
}

}  // namespace trainyard::collective
