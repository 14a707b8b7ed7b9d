// SPDX-License-Identifier: GPL-3.0-or-later
// Resuming a run from the checkpoint of another run, and the checkpoint spans that servers and
// ranks write.
#pragma once

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"
#include "core/run/bind/bound_plan.h"
#include "core/session/checkpoint/checkpoint.h"

namespace trainyard::session {

// If run.resume_from names a run directory, sets the first step and version, and the absolute path
// of the directory in `resolved`. Reads and verifies the full checkpoint now, so that no rank finds
// an error later. Refuses the directory of a running run, a checkpoint of another model, and a
// checkpoint that already has all steps of this run. Returns the problems of newer checkpoints that
// were skipped as damaged.
base::Result<base::Problems> resume(experiment::Resolved& resolved);

// Initial state of a resumed run, read from the checkpoint: parameters, other model state, and
// moments of the full model.
struct InitialState {
  std::vector<std::byte> parameters, state;
  std::vector<std::vector<std::byte>> moments;
  CheckpointTensors tensors{compute::Tensor{}};  // Views of the buffers that are declared above.
};
base::Result<InitialState> initial_state(const experiment::Resolved& e);

// These functions are for ranks that hold only some of the parameters
// (`experiment::has_partial_parameters`). `writes_part`: true if the rank writes a part of the
// checkpoint. `count_parts`: number of ranks that write a part. `spans_of_part`: spans that the
// rank writes. The chief writes the running statistics.
bool writes_part(const experiment::Resolved& e, int rank);
int count_parts(const experiment::Resolved& e);
std::vector<CheckpointSpan> spans_of_part(const experiment::Resolved& e, int rank,
                                          const compute::Tensor& parameters,
                                          const compute::Tensor& state);

// Returns the positions of a server's parameters and moments in the full model, as checkpoint
// spans.
std::vector<CheckpointSpan> spans_of_server(const experiment::Resolved& e, int server,
                                            const compute::Tensor& parameters,
                                            const std::vector<compute::Tensor>& moments);

// Copies the rank's share of the initial state: for a server its parameters and their moments, for
// a worker the model's state besides parameters.
void load_initial_state(const InitialState& initial_state, const experiment::Resolved& e,
                        const plan::RankPlan& rank, const run::BoundPlan& bound);

}  // namespace trainyard::session
