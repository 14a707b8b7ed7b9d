// SPDX-License-Identifier: GPL-3.0-or-later
// 2-D torus of b rows with a members each (Ying et al. 2018; Jia et al. 2018). A ring
// reduce-scatter along every row leaves each member one of a shards. A ring all-reduce along every
// column sums the shard over the rows, in b chunks. A ring all-gather along the row completes the
// buffer. Members that are neighbors in a ring are also neighbors in the torus. Rounds: 2 (a - 1) +
// 2 (b - 1). A member sends 2 (a - 1)/a S along its row and 2 (b - 1)/b S/a along its column.
#include "core/collective/member_ring.h"

namespace trainyard::collective {

Rounds torus(const Formation& formation, int position) {
  const int columns = formation.columns, rows = formation.rows(), row = position / columns,
            column = position % columns;
  MemberRing along_row{{}, column, 0, rows}, along_column{{}, row, column * rows, 1};
  for (int c = 0; c < columns; ++c) along_row.members.push_back(row * columns + c);
  for (int r = 0; r < rows; ++r) along_column.members.push_back(r * columns + column);
  Rounds rounds = ring_reduce_scatter(along_row);
  append(rounds, ring_reduce_scatter(along_column));
  append(rounds, ring_all_gather(along_column));
  append(rounds, ring_all_gather(along_row));
  return rounds;
}

}  // namespace trainyard::collective
