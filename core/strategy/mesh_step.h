// SPDX-License-Identifier: GPL-3.0-or-later
// The ops of a rank of a mesh. It takes its cells in the order of the schedule
// (experiment/cells.h). Forward it receives what its stage computes by, computes, and hands on what
// later stages compute by; back it receives the gradients at its outputs, adds its part to those of
// others, and hands them on the way that the outputs came. Of layers that it shares it has some
// rows or columns (core/model/split.h): what a pair's second layer makes is summed over the ranks
// that share it on the way forward, and the gradient at the inputs of its first one on the way
// back; a loss of classes in parts goes by what all of them gather of their logits. Where stages
// are called (experiment/mesh.h), the caller sends them what they compute by, has the loss, and
// they take its micro-batches and those of all other callers. A bucket of gradients is summed over
// replicas with the last micro-batch, as soon as that is through with it, or where every
// micro-batch is an update of its own (pipedream) with each, and so is a table that layers of two
// stages share; replicas that share out what they have alike do so by units (unit_ops.h), in every
// cell of the one that takes most micro-batches. What waits for what follows from the data.
#pragma once

#include <vector>

#include "core/strategy/mesh_rank.h"
#include "core/strategy/replica_step.h"
#include "core/strategy/same_samples.h"

namespace trainyard::strategy {

// Of a step, and of an evaluation, of so many samples. `replica.buckets`: what replicas sum.
std::vector<plan::Op> mesh_training(const Replica& replica, const MeshRank& rank,
                                    const ProgramSize& size);
std::vector<plan::Op> mesh_evaluation(const Replica& replica, const MeshRank& rank,
                                      const ProgramSize& size);

}  // namespace trainyard::strategy
