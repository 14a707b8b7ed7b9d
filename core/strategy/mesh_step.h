// SPDX-License-Identifier: GPL-3.0-or-later
// Ops of a rank of a mesh. The rank runs its passes (cells) in the order of the schedule
// (experiment/cells.h). In a forward pass, it receives the inputs of its stage, computes, and sends
// outputs to later stages. In a backward pass, it receives the gradients of its outputs, adds its
// own terms, and sends gradients to the stages that sent the inputs.
//
// A rank has some rows or columns of each split layer (core/model/split.h). Split layers come in
// pairs. In the forward pass, the ranks that split a pair sum the output of its second layer; in
// the backward pass, they sum the gradient at the inputs of its first layer. If the classes are
// split, the loss uses a summary of each rank's logits (maximum and sum of exponentials), gathered
// from all ranks.
//
// If stages are called remotely (experiment/mesh.h), the caller sends their inputs and computes the
// loss. A called stage processes the micro-batches of all callers.
//
// A gradient bucket is summed over replicas in the last micro-batch, as soon as the bucket's
// backward pass is done. With pipedream, it is summed in every micro-batch, because each is an
// update. The gradient of a table that layers of two stages share is summed in the same way. With
// sharding, replicas sum gradients unit by unit (unit_ops.h). All replicas then run as many passes
// as the replica with the most micro-batches. Dependencies are derived from data accesses
// (order.h).
#pragma once

#include <vector>

#include "core/strategy/mesh_rank.h"
#include "core/strategy/program_size.h"
#include "core/strategy/replica_step.h"

namespace trainyard::strategy {

// These functions return the ops of a training step or of an evaluation. `replica.buckets`: buckets
// whose gradients are summed over replicas.
std::vector<plan::Op> mesh_training(const Replica& replica, const MeshRank& rank,
                                    const ProgramSize& size);
std::vector<plan::Op> mesh_evaluation(const Replica& replica, const MeshRank& rank,
                                      const ProgramSize& size);

}  // namespace trainyard::strategy
