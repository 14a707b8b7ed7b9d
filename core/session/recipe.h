// SPDX-License-Identifier: GPL-3.0-or-later
// What the experiment says of optimizer and schedule, as the interpreter needs it.
#pragma once

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"
#include "core/run/pair_training.h"
#include "core/run/row_counts.h"
#include "core/run/served_training.h"
#include "core/run/server.h"

namespace trainyard::session {

run::Recipe recipe(const experiment::Resolved& experiment);

// Whether a rank draws its initial parameters itself. Where the plan broadcasts them, its root
// alone does.
bool initialises(const plan::RankPlan& rank);

// What a server needs of what an interpreter would be given.
run::ServerParts server_parts(const experiment::Resolved& experiment, const plan::Plan& plan,
                              const run::InterpreterParts& parts);

// What computes a run with servers in one thread, but for events. Opens the data. The arguments
// outlive it.
base::Result<run::ServedTrainingParts> served_training_parts(const experiment::Resolved& experiment,
                                                             const plan::Plan& plan,
                                                             const run::Recipe& recipe,
                                                             compute::Compute& compute);

// The same of a run of asynchronous gossip, but for what its ranks compute on, and talk over.
base::Result<run::PairTrainingParts> pair_training_parts(const experiment::Resolved& experiment,
                                                         const plan::Plan& plan,
                                                         const run::Recipe& recipe);

// How many rows of tables each round of the plan's workers names; empty where none are. Opens the
// data.
base::Result<run::RowCount> row_counts(const experiment::Resolved& experiment,
                                       const plan::Plan& plan);

// Weights before the first step, as the rank has them: all, a server its share, or none where they
// are given to it.
void initialise(const experiment::Resolved& experiment, const plan::RankPlan& rank,
                const run::BoundPlan& bound);

}  // namespace trainyard::session
