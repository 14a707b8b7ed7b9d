// SPDX-License-Identifier: GPL-3.0-or-later
// A run that goes on from the checkpoint of another, and what servers put into one.
#pragma once

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"
#include "core/run/bound_plan.h"
#include "core/session/checkpoint.h"

namespace trainyard::session {

// Where run.resume_from names a run directory: sets from which step and version it goes on, and
// names its checkpoints in `resolved`. Everything is read and verified, so that no rank finds later
// what could be known now. Refused: a run that is still going on, a checkpoint of another model,
// one that has all the steps already. Newer checkpoints that were passed over, for they are
// damaged, are given back.
base::Result<base::Problems> resume(experiment::Resolved& resolved);

// What a run that goes on begins with, all of it.
struct Beginning {
  std::vector<std::byte> parameters, state;
  std::vector<std::vector<std::byte>> moments;
  CheckpointTensors tensors{compute::Tensor{}};  // views of them
};
base::Result<Beginning> beginning(const experiment::Resolved& e);

// Where a rank keeps but a part of the parameters (experiment::keeps_a_part): whether it writes it,
// how many do, and what. Running statistics are the chief's.
bool writes_part(const experiment::Resolved& e, int rank);
int count_parts(const experiment::Resolved& e);
std::vector<CheckpointSpan> spans_of_part(const experiment::Resolved& e, int rank,
                                          const compute::Tensor& parameters,
                                          const compute::Tensor& state);

// What a server saves: where its share of the parameters, and of their moments, lies among all.
std::vector<CheckpointSpan> spans_of_server(const experiment::Resolved& e, int server,
                                            const compute::Tensor& parameters,
                                            const std::vector<compute::Tensor>& moments);

// What of it the rank keeps: a server its share and the moments of that, a worker what models keep
// besides.
void take_over(const Beginning& beginning, const experiment::Resolved& e,
               const plan::RankPlan& rank, const run::BoundPlan& bound);

}  // namespace trainyard::session
