// SPDX-License-Identifier: GPL-3.0-or-later
// All numbers of a run as one tidy table (RFC 4180): `metric,rank,index,step,seconds,value,text`,
// one logged number a line, unthinned, numbers in the shortest form that reads back the same.
// `index` is the segment or the peer. The figures over all ranks (train_loss, train_accuracy,
// held_out_loss, held_out_accuracy) follow with rank -1, and then what befell ranks and links: its
// metric is `fault_` and the kind (fault_lost, fault_killed, fault_link_cut, ...), its value 1, its
// text what was said of it; of a link the rank is -1, and the index the link's number in the
// drawing. Nothing else has a text.
#pragma once

#include <iosfwd>
#include <ostream>

#include "core/telemetry/history.h"

namespace trainyard::telemetry {

// A stream that fails (a full disk) is a Problem.
base::Result<void> export_csv(const History& history, std::ostream& out);

}  // namespace trainyard::telemetry
