// SPDX-License-Identifier: GPL-3.0-or-later
// Strategy rpc: the layers that parameter servers keep and trainers call, and the strategy's
// requirements on drawing and document. As in torch.distributed.rpc, a trainer calls a layer on its
// server (remote forward), gets the output or only a reference (RRef), and runs backward through
// the same servers (dist_autograd). Each server updates its layers once a step with the gradients
// of all trainers (DistributedOptimizer).
#pragma once

#include "core/experiment/experiment.h"
#include "core/model/stage_transfer.h"

namespace trainyard::experiment {

model::RemoteCalls calls_of(const StrategySpec& strategy);  // Returns `none` for other strategies.

// True if servers keep the parameters of the segment. If strategy.rpc.remote is embeddings, servers
// keep tables and layers tied to tables; otherwise they keep all segments with parameters.
bool is_remote(const RpcSpec& rpc, const model::Model& model, int segment);

// Returns the segments that are partitioned over servers, ascending: all segments, or, if
// strategy.rpc.remote is embeddings, only the tables. Segments without parameters are included, so
// that activations need not return to the trainer for them. A tied layer is on the server of the
// table whose weights it uses, and is not listed. For other strategies, returns all segments,
// including a tied one if it may be in another stage (ties.h).
std::vector<int> partitioned_segments(const StrategySpec& strategy, const model::Model& model);

// These functions return problems of rpc. `rpc_problems`: problems of the drawing and the document.
// `remote_problems`: too many servers for the model. `remote_place_problems`: problems of layers
// placed by hand; `owners` has an entry per segment: 0 for the trainers, or the number of a server,
// from 1.
base::Problems rpc_problems(const Experiment& experiment);
base::Problems remote_problems(const Experiment& experiment, const model::Model& model);
base::Problems remote_place_problems(const Experiment& experiment, const model::Model& model,
                                     const std::vector<int>& owners);

}  // namespace trainyard::experiment
