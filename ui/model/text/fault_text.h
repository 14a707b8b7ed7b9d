// SPDX-License-Identifier: GPL-3.0-or-later
// Text about rank failures: their effect on other ranks, by role and strategy. Also the faults that
// can be injected into a live run. Pure.
#pragma once

#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"
#include "core/session/protocol/messages.h"

namespace trainyard::ui {

// True if a rank can die or hang while the others continue, because each rank has its own process.
// False for the transport inproc and for the virtual clock, where all ranks share one process.
bool fails_alone(const experiment::RunSpec& run);

// True if the other ranks can continue without this rank, provided that enough ranks remain. The
// experiment must have no problems.
bool is_loss_allowed(const experiment::Experiment& experiment, int rank);

// A row of the table "When it fails": a role, and what happens if a rank with this role fails.
struct RoleFailure {
  QString role;    // "chief (rank 0)"
  QString others;  // effect on the other ranks
  QString back;    // how the rank rejoins
};
// Returns one row for each role that the strategy assigns to drawn devices. Accepts any document,
// even one that cannot be run yet.
std::vector<RoleFailure> when_ranks_fail(const experiment::Experiment& experiment);

// State of a drawn link in a live run: the faults that can be injected now, and the fraction of the
// drawn bandwidth that the link has.
struct LinkFaults {
  int link = -1;  // index in the recorded drawing
  bool possible = false;
  QString why_not;  // why no fault is possible now; empty if it is possible
  double part = 1;
};
// Returns the state of the link with this index. Returns nothing if the drawing of the run has no
// such link.
std::optional<LinkFaults> faults_of_link(const experiment::Experiment& experiment,
                                         const session::Status& status, int link);

// Commands for a rank of a live run that the coordinator would accept now.
struct RankFaults {
  bool kill = false, stall = false, wake = false, restart = false;
  bool spared = false;  // true if the other ranks can continue without this rank
  // Effect of losing the rank, such as "training goes on with the 3 other workers" or "ends the
  // run".
  QString outcome;
};
// Returns the faults that can be injected into a rank. `experiment`: the experiment that the run
// recorded.
RankFaults faults_of_rank(const experiment::Experiment& experiment, const session::Status& status,
                          int rank);

}  // namespace trainyard::ui
