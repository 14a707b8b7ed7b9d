// SPDX-License-Identifier: GPL-3.0-or-later
// Fully sharded data parallelism: each rank of a shard group keeps 1/n of the model, unit by unit.
// Units are the buckets of the gradient. In a mesh (mesh.h), replicas at the same position form
// such a group, and shard the part of the model at that position.
#pragma once

#include <optional>
#include <vector>

#include "core/experiment/buckets.h"
#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Elements [first, first + count) of the flat parameters.
struct ElementRange {
  std::int64_t first = 0, count = 0;
};

// True for fsdp on several ranks, or several replicas in a mesh that shards data.
bool shards(const Resolved& resolved);
bool shards_parameters(const Resolved& resolved);  // True if parameters are sharded as well.

// True if a rank ends with only a part of the parameters. Then all ranks write the checkpoint
// together.
bool has_partial_parameters(const Resolved& resolved);

// Returns groups of ranks that end with bit-identical parameters: all ranks, or those with the same
// shard. Ranks on CPUs and on GPUs are in different groups, because they round differently.
std::vector<std::vector<int>> identical_parameter_groups(const Resolved& resolved);

// Splits ranks that hold the same part of a model into the groups that shard it: one group, or with
// fsdp.group `host` one per host.
std::vector<std::vector<int>> shard_groups_within(const Resolved& resolved,
                                                  const std::vector<int>& ranks);

// Returns the groups of ranks that shard one model, or one part of it in a mesh. Ranks are in
// ascending order.
std::vector<std::vector<int>> shard_groups(const Resolved& resolved);
// If several groups shard the same part, returns the groups of ranks that hold the same shard; else
// none.
std::vector<std::vector<int>> same_shard_groups(const Resolved& resolved);
const std::vector<int>& group_with(const std::vector<std::vector<int>>& groups, int rank);

// Returns the rank's shard of every unit, by number of the bucket: part p of n, where sizes differ
// by at most one element. The shards of a group cover the model once. In a mesh this refers to the
// rank's local model (stages.h).
std::vector<ElementRange> shards_of_rank(const Resolved& resolved, int rank);

// True if the unit contains a table that another layer also uses, such as a tied output layer.
bool has_shared_table(const model::Model& model, const Bucket& unit);

// True if the gathered parameters of a unit stay until the end of the step: without
// reshard_after_forward, and for a table that another layer also uses.
bool stays_gathered(const Resolved& resolved, const Bucket& unit);

// True if micro-steps accumulate the unit's gradient in place, which is then summed over ranks once
// a step. This is the case if gradients are not sharded, for a table that another layer also uses,
// and for batch normalization with zb_h1, whose own gradients do not wait for the separate weight
// gradient cells (cells.h). Otherwise each micro-step's gradient is reduce-scattered and added to
// the rank's shard.
bool accumulates_gradient(const Resolved& resolved, const Bucket& unit);

// Returns the units of each stage of the rank's local model (stages.h), in the order of the
// backward pass. A rank with a full model has one stage.
std::vector<std::vector<int>> units_by_stage(const Resolved& resolved,
                                             const std::vector<Bucket>& units);

// Batches of held-out samples in one evaluation, which all ranks (or replicas) process together:
// `whole` full batches on each, then one with the rest, which may be empty on some ranks.
struct HeldOutRounds {
  std::int64_t whole = 0;
  bool rest = false;
  std::int64_t count() const { return whole + (rest ? 1 : 0); }
};
HeldOutRounds held_out_rounds(const Resolved& resolved);

// Checks that ranks with the same part, given the host of each, can shard it host by host.
std::optional<base::Problem> host_group_problem(const std::vector<int>& hosts);
base::Problems fsdp_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
