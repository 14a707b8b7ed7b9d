// SPDX-License-Identifier: GPL-3.0-or-later
// Exports all numbers of a run as one table (RFC 4180):
// `metric,rank,index,step,seconds,value,text`. Each logged number has a line; none are omitted.
// Numbers have the shortest form that parses back exactly. `index` is the segment or the peer.
//
// Lines after the metrics of ranks: first the values over all ranks (train_loss, train_accuracy,
// held_out_loss, held_out_accuracy), with rank -1. Then the faults of ranks and links: the metric
// is `fault_` and the kind (fault_lost, fault_killed, fault_link_cut, ...), the value is 1, and the
// text is the message. For a link, rank is -1 and `index` is the index of the link in the drawing.
// Other lines have no text.
#pragma once

#include <iosfwd>
#include <ostream>

#include "core/telemetry/history.h"

namespace trainyard::telemetry {

// Returns a Problem if writing to the stream fails, for example on a full disk.
base::Result<void> export_csv(const History& history, std::ostream& out);

}  // namespace trainyard::telemetry
