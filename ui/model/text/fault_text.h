// SPDX-License-Identifier: GPL-3.0-or-later
// Descriptions of rank failures: the effect on other ranks, by role and strategy, and the faults
// that can be injected into a live run. Pure.
#pragma once

#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"
#include "core/session/protocol/messages.h"

namespace trainyard::ui {

// True if a rank can die or hang while the others live, because each rank is a separate process.
// With the transport inproc or the virtual clock, all ranks share one process.
bool fails_alone(const experiment::RunSpec& run);

// True if the other ranks can continue without this rank, as long as enough of them are left. The
// experiment must be free of problems.
bool is_loss_allowed(const experiment::Experiment& experiment, int rank);

// A row of the table "When it fails".
struct RoleFailure {
  QString role;    // "chief (rank 0)"
  QString others;  // effect on the other ranks
  QString back;    // how the rank rejoins
};
// Returns the rows for the roles that the strategy assigns to the drawn devices. Accepts any
// document, even one that cannot be run yet.
std::vector<RoleFailure> when_ranks_fail(const experiment::Experiment& experiment);

// Faults of a drawn link of a live run: whether it can be cut or slowed now, and its current share
// of the drawn bandwidth.
struct LinkFaults {
  int link = -1;  // index in the recorded drawing
  bool possible = false;
  QString why_not;  // reason why it is not possible now; empty if it is possible
  double part = 1;
};
// Returns nothing if the recorded run does not have the link.
std::optional<LinkFaults> faults_of_link(const experiment::Experiment& experiment,
                                         const session::Status& status, const std::string& from,
                                         const std::string& to);

// Commands for a rank of a live run, as far as its coordinator would accept them now.
struct RankFaults {
  bool kill = false, stall = false, wake = false, restart = false;
  bool spared = false;  // the other ranks can continue without this rank
  // effect of losing the rank: "training goes on with the 3 other workers", "ends the run"
  QString outcome;
};
// `experiment`: the experiment that the run recorded.
RankFaults faults_of_rank(const experiment::Experiment& experiment, const session::Status& status,
                          int rank);

}  // namespace trainyard::ui
