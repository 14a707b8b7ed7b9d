// SPDX-License-Identifier: GPL-3.0-or-later
// All numbers of a run as one tidy table (RFC 4180): `metric,rank,index,step,seconds,value`, one logged number a line,
// unthinned, numbers in the shortest form that reads back the same. `index` is the segment or the peer. The figures over all
// ranks (train_loss, train_accuracy, held_out_loss, held_out_accuracy) follow with rank -1.
#pragma once

#include <iosfwd>
#include <ostream>

#include "core/telemetry/history.h"

namespace trainyard::telemetry {

// A stream that fails (a full disk) is a Problem.
base::Result<void> export_csv(const History& history, std::ostream& out);

}  // namespace trainyard::telemetry
