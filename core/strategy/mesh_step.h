// SPDX-License-Identifier: GPL-3.0-or-later
// Ops of a rank of a mesh. The rank processes its cells in the order of the schedule
// (experiment/cells.h). Forward, it receives the inputs of its stage, computes, and sends outputs
// to later stages. Backward, it receives the gradients at its outputs, adds its own terms, and
// sends gradients back along the same ways.
//
// It has some rows or columns of split layers (core/model/split.h). The output of a pair's second
// layer is summed over the ranks that split it in the forward pass, and the gradient at the inputs
// of its first layer in the backward pass. With split classes, the loss uses summaries of logits
// gathered from all ranks.
//
// If stages are called remotely (experiment/mesh.h), the caller sends their inputs and has the
// loss; a called stage processes the micro-batches of all callers.
//
// A gradient bucket is summed over replicas in the last micro-batch, as soon as its backward pass
// is done, or in every micro-batch if each is an update (pipedream). So is a table that layers of
// two stages share. Replicas with shards sum by units (unit_ops.h), in every cell of the replica
// with the most micro-batches. Dependencies follow from the data.
#pragma once

#include <vector>

#include "core/strategy/mesh_rank.h"
#include "core/strategy/program_size.h"
#include "core/strategy/replica_step.h"

namespace trainyard::strategy {

// Return the ops of a step and of an evaluation of the given size. `replica.buckets`: summed over
// replicas.
std::vector<plan::Op> mesh_training(const Replica& replica, const MeshRank& rank,
                                    const ProgramSize& size);
std::vector<plan::Op> mesh_evaluation(const Replica& replica, const MeshRank& rank,
                                      const ProgramSize& size);

}  // namespace trainyard::strategy
