// SPDX-License-Identifier: GPL-3.0-or-later
// Pieces of a bucket's collective on one rank, from the first begin of its ops to their last end,
// split by the rank's state:
//
//   transfer   a receive moved or added bytes: its peer was ready
//   waiting    no transfer, and a receive was posted
//   sending    neither, and a send was not consumed; only the peer knows if it was ready
//   nothing    none of these: the next op had not begun
#pragma once

#include <cstdint>
#include <vector>

#include "ui/model/spans/op_span.h"

namespace trainyard::ui {

// Returns the pieces of one collective, in order and disjoint. A piece is a receive with its wait,
// or a send. `ops` contains all ops of the collective on the rank, in any order. Each piece has the
// program of the ops and the op number `first`, which identify the collective. The bytes of all ops
// are distributed over the pieces.
std::vector<OpSpan> pieces_of_bucket(const std::vector<OpSpan>& ops, std::uint16_t first);

}  // namespace trainyard::ui
