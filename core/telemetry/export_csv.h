// SPDX-License-Identifier: GPL-3.0-or-later
// All numbers of a run as one tidy table (RFC 4180): `metric,rank,index,step,seconds,value,text`.
// One line per logged number, without thinning; numbers in the shortest form that parses back
// exactly. `index` is the segment or the peer.
//
// Figures over all ranks (train_loss, train_accuracy, held_out_loss, held_out_accuracy) follow with
// rank -1. Then follow the faults of ranks and links: metric `fault_` and the kind (fault_lost,
// fault_killed, fault_link_cut, ...), value 1, and the message as text. For a link, rank is -1 and
// index is its number in the drawing. Other lines have no text.
#pragma once

#include <iosfwd>
#include <ostream>

#include "core/telemetry/history.h"

namespace trainyard::telemetry {

// Returns a Problem if the stream fails (a full disk).
base::Result<void> export_csv(const History& history, std::ostream& out);

}  // namespace trainyard::telemetry
