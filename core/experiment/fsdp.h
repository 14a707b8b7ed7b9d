// SPDX-License-Identifier: GPL-3.0-or-later
// Fully sharded data parallelism: each rank of a shard group keeps 1/n of every unit of the model.
// The units are the buckets of the gradient. In a mesh (mesh.h), replicas at the same position
// (stage and part) form a shard group, and shard the part of the model at that position.
#pragma once

#include <optional>
#include <vector>

#include "core/experiment/buckets.h"
#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Range of the flat parameters, such as a rank's shard of a unit: elements [first, first + count).
struct ElementRange {
  std::int64_t first = 0, count = 0;
};

// True for fsdp on several ranks, or several replicas in a mesh that shards data.
bool shards(const Resolved& resolved);
bool shards_parameters(const Resolved& resolved);  // True if parameters are sharded as well.

// True if each rank has only a part of the parameters at the end of a step. All ranks then write
// the checkpoint together.
bool has_partial_parameters(const Resolved& resolved);

// Returns groups of ranks whose parameters are bit-identical at the end: all ranks, or, if
// parameters are sharded, the ranks with the same shard. Ranks on CPUs and ranks on GPUs are in
// different groups, because CPUs and GPUs round differently.
std::vector<std::vector<int>> identical_parameter_groups(const Resolved& resolved);

// Splits ranks that hold the same part of a model into shard groups: one group of all these ranks,
// or, with fsdp.group `host`, one group per host.
std::vector<std::vector<int>> shard_groups_within(const Resolved& resolved,
                                                  const std::vector<int>& ranks);

// Returns the groups of ranks among which one model, or in a mesh one part of the model, is
// sharded. The ranks of a group are in ascending order.
std::vector<std::vector<int>> shard_groups(const Resolved& resolved);
// Returns the groups of ranks that hold the same shard, which exist if several shard groups shard
// the same part of the model. Otherwise returns no groups.
std::vector<std::vector<int>> same_shard_groups(const Resolved& resolved);
const std::vector<int>& group_with(const std::vector<std::vector<int>>& groups, int rank);

// Returns the rank's shard of every unit, by index of the unit (bucket). Shards of a unit differ
// in size by at most one element. The shards of all ranks of a group together contain every
// parameter once. In a mesh, the model is the rank's local model (stages.h).
std::vector<ElementRange> shards_of_rank(const Resolved& resolved, int rank);

// True if the unit contains a table that another layer also uses, such as a tied output layer.
bool has_shared_table(const model::Model& model, const Bucket& unit);

// True if a unit stays gathered until the end of the step: without reshard_after_forward, or if it
// contains a table that another layer also uses.
bool stays_gathered(const Resolved& resolved, const Bucket& unit);

// True if micro-steps accumulate the full gradient of the unit, and ranks sum this gradient once
// per step. Otherwise every micro-step reduce-scatters its gradient, and adds the result to the
// rank's shard. Gradients are accumulated if they are not sharded, and if the unit has a table that
// another layer also uses. They are also accumulated for batch normalization with zb_h1, whose
// gradients are computed before the separate weight gradient cells (cells.h).
bool accumulates_gradient(const Resolved& resolved, const Bucket& unit);

// Returns the units of each stage of the rank's local model (stages.h), in the order of the
// backward pass. A rank with a full model has one stage.
std::vector<std::vector<int>> units_by_stage(const Resolved& resolved,
                                             const std::vector<Bucket>& units);

// Number of rounds of one evaluation. In each round all ranks (or replicas) process a batch of
// held-out samples. In the first `whole` rounds every rank has a full batch. If `rest` is true, one
// more round follows, in which some ranks may have no samples.
struct HeldOutRounds {
  std::int64_t whole = 0;
  bool rest = false;
  std::int64_t count() const { return whole + (rest ? 1 : 0); }
};
HeldOutRounds held_out_rounds(const Resolved& resolved);

// Checks that ranks with the same part of the model can shard this part within each host. `hosts`
// is the host of each rank.
std::optional<base::Problem> host_group_problem(const std::vector<int>& hosts);
base::Problems fsdp_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
