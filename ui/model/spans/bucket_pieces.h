// SPDX-License-Identifier: GPL-3.0-or-later
// Splits the collective of a bucket on one rank into pieces, which are spans. They cover the time
// from the first begin to the last end of the collective's ops. At each time, the rank is in the
// first of these states that applies:
//
//   transfer   A receive copies or adds bytes. Its peer was ready.
//   waiting    A receive is posted.
//   sending    A send is not consumed yet. Only the peer knows whether it was ready.
//   nothing    No op has begun and not ended. This time is in no piece.
#pragma once

#include <cstdint>
#include <vector>

#include "ui/model/spans/op_span.h"

namespace trainyard::ui {

// Returns the pieces of one collective: disjoint spans, in order. A piece is either a receive with
// its wait, or a send. `ops` contains all ops of the collective on the rank, in any order. To
// identify the collective, each piece has the program of `ops` and the op index `first`. The bytes
// of all ops are distributed over the pieces.
std::vector<OpSpan> pieces_of_bucket(const std::vector<OpSpan>& ops, std::uint16_t first);

}  // namespace trainyard::ui
