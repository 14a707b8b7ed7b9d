// SPDX-License-Identifier: GPL-3.0-or-later
// Builds the interpreter's recipe (optimizer, schedule, precision) from an experiment.
#pragma once

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"
#include "core/run/input/row_counts.h"
#include "core/run/replay/gossip_replay.h"
#include "core/run/replay/server_replay.h"
#include "core/run/servers/server.h"

namespace trainyard::session {

run::Recipe recipe(const experiment::Resolved& experiment);

// True if the rank initializes its parameters. If the plan broadcasts the parameters, only the root
// of the broadcast initializes them.
bool initializes(const plan::RankPlan& rank);

// Returns the parts of a `run::Server`. Parts that an interpreter also needs are copied from
// `parts`.
run::ServerParts server_parts(const experiment::Resolved& experiment, const plan::Plan& plan,
                              const run::InterpreterParts& parts);

// Returns the parts needed to compute a run with parameter servers in one thread, without event
// sinks. Opens the data set. The arguments must outlive the result.
base::Result<run::ServedTrainingParts> served_training_parts(const experiment::Resolved& experiment,
                                                             const plan::Plan& plan,
                                                             const run::Recipe& recipe,
                                                             compute::Compute& compute);

// Returns the parts needed to compute a run of asynchronous gossip in one thread, without compute
// devices and transports. Opens the data set. The arguments must outlive the result.
base::Result<run::GossipReplayParts> gossip_replay_parts(const experiment::Resolved& experiment,
                                                         const plan::Plan& plan,
                                                         const run::Recipe& recipe);

// Returns a function that counts the table rows that each round of each worker looks up; empty if
// workers pull full tables. Opens the data set.
base::Result<run::RowCount> row_counts(const experiment::Resolved& experiment,
                                       const plan::Plan& plan);

// Writes the initial weights that the rank holds: all parameters, a server's share, or none if the
// rank receives them.
void initialize(const experiment::Resolved& experiment, const plan::RankPlan& rank,
                const run::BoundPlan& bound);

}  // namespace trainyard::session
