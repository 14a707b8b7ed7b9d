// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that fail: what comes of it for the others, by role and strategy, and what may be done to a
// rank of a live run. Pure.
#pragma once

#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"
#include "core/session/messages.h"

namespace trainyard::ui {

// Whether a rank can die or stand still while the others live: each is a process. Those of inproc
// and of the virtual clock are one.
bool fails_alone(const experiment::RunSpec& run);

// Whether the others can go on without it, as long as enough of them are left. Of a document that
// can be run.
bool may_be_lost(const experiment::Experiment& experiment, int rank);

// A line of "When it fails".
struct RoleFailure {
  QString role;    // "chief (rank 0)"
  QString others;  // what comes of it for them
  QString back;    // how it comes back
};
// Of the roles that the strategy gives to the drawn devices; of any document, also one that cannot
// be run yet.
std::vector<RoleFailure> when_ranks_fail(const experiment::Experiment& experiment);

// A drawn link of a live run, whether it can be cut and slowed now, and what it carries of its
// drawn bandwidth.
struct LinkFaults {
  int link = -1;  // of the recorded drawing
  bool possible = false;
  QString why_not;  // empty where it is possible
  double part = 1;
};
// Nothing where the run was recorded with no such link.
std::optional<LinkFaults> faults_of_link(const experiment::Experiment& experiment,
                                         const session::Status& status, const std::string& from,
                                         const std::string& to);

// What its coordinator would carry out of what is asked of a rank of a live run, as the run stands.
struct RankFaults {
  bool kill = false, stall = false, wake = false, restart = false;
  bool spared = false;  // the others go on without it
  QString outcome;  // "training goes on with the 3 other workers", "ends the run"; what comes of
                    // its loss
};
// `experiment`: as the run recorded it.
RankFaults faults_of_rank(const experiment::Experiment& experiment, const session::Status& status,
                          int rank);

}  // namespace trainyard::ui
