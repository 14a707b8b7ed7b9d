// SPDX-License-Identifier: GPL-3.0-or-later
// Of rpc: which layers parameter servers keep and trainers call, and what the strategy asks of the
// drawing and the document. As torch.distributed.rpc has it, a trainer calls a layer on its server
// (remote forward), is given the output, or but refers to it (RRef), and goes back through the same
// servers (dist_autograd); each of these updates what it keeps, once a step and by the gradients of
// all trainers (DistributedOptimizer).
#pragma once

#include "core/experiment/experiment.h"
#include "core/model/crossing.h"

namespace trainyard::experiment {

model::Calls calls_of(const StrategySpec& strategy);  // none of another strategy

// Whether servers keep what a segment computes by: of `embeddings` a table, or what is tied to one;
// else whatever has parameters.
bool is_remote(const RpcSpec& rpc, const model::Model& model, int segment);

// Those that servers share out, ascending: the tables, or else all, that no sample goes to and fro
// for a layer without parameters. What is tied goes with its owner, and is not among them. Of
// another strategy all, and what is tied where it may be apart (ties.h).
std::vector<int> shared_out(const StrategySpec& strategy, const model::Model& model);

// Of the drawing and the document; and once the model is known, of too many servers, and of places
// by hand: by segment 0, the trainers, or a server from 1 on.
base::Problems rpc_problems(const Experiment& experiment);
base::Problems remote_problems(const Experiment& experiment, const model::Model& model);
base::Problems remote_place_problems(const Experiment& experiment, const model::Model& model,
                                     const std::vector<int>& owners);

}  // namespace trainyard::experiment
