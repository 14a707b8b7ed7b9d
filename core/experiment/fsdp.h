// SPDX-License-Identifier: GPL-3.0-or-later
// Fully sharded data parallelism: of a model the ranks of a shard group keep one n-th each, unit by
// unit. Units are the buckets of the gradient. In a mesh (mesh.h) the replicas of one place are
// such a group, and what they share out is what that place has of the model.
#pragma once

#include <optional>
#include <vector>

#include "core/experiment/buckets.h"
#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Elements [first, first + count) of the flat parameters.
struct Part {
  std::int64_t first = 0, count = 0;
};

bool shards(const Resolved&
                resolved);  // fsdp on several ranks, or several replicas in a mesh that shards data
bool shards_parameters(
    const Resolved& resolved);  // and of parameters too a rank keeps but its part

// Whether a rank ends with but a part of the parameters: then all write the checkpoint together.
bool keeps_a_part(const Resolved& resolved);

// Ranks that end with the same parameters, bit by bit: all, or those that have the same part; those
// on CPUs apart from those on GPUs, which round otherwise.
std::vector<std::vector<int>> ranks_alike(const Resolved& resolved);

// Of ranks that have the same of a model those who share it out among them: all, or with fsdp.group
// `host` those of each host.
std::vector<std::vector<int>> sharing_among(const Resolved& resolved,
                                            const std::vector<int>& ranks);

// Ranks that share out one model among them, or of a mesh one part of it, in order of rank.
std::vector<std::vector<int>> shard_groups(const Resolved& resolved);
// Where several groups share out the same, each for itself: the ranks that have the same part of
// it; else none.
std::vector<std::vector<int>> part_groups(const Resolved& resolved);
const std::vector<int>& group_with(const std::vector<std::vector<int>>& groups, int rank);

// The rank's own part of every unit, by number of the bucket: of n ranks part p of n, of which none
// has more than one element more than another. Parts of a rank's group cover the model once. Of a
// mesh by the rank's own model (stages.h).
std::vector<Part> parts_of(const Resolved& resolved, int rank);

// Whether another layer computes by a table of the unit, as a tied last one does by that of the
// embedding.
bool has_shared_table(const model::Model& model, const Bucket& unit);

// Whether the parameters of a unit, once gathered, stay until the step is over: where nothing is
// resharded after forward, and of a table that another layer shares.
bool stays_gathered(const Resolved& resolved, const Bucket& unit);

// Whether micro-steps add up a unit's gradient where it is, which is then summed over ranks once a
// step: where gradients are no shards; of a table that another layer shares; and of batch
// normalisation where gradients of weights have cells of their own (cells.h), as those of its own
// do not wait for these. Else a micro-step's gradient comes and goes: summed after each, and added
// to the rank's part.
bool adds_up(const Resolved& resolved, const Bucket& unit);

// By stage of the rank's own model (stages.h), in the order of the backward pass: numbers of its
// units. A rank that has a whole model has one stage.
std::vector<std::vector<int>> units_by_stage(const Resolved& resolved,
                                             const std::vector<Bucket>& units);

// Batches of held-out samples in one evaluation, which all ranks, or replicas, pass at once: as
// many whole ones on each, then one with what is left, of which one may have none.
struct HeldOutRounds {
  std::int64_t whole = 0;
  bool rest = false;
  std::int64_t count() const { return whole + (rest ? 1 : 0); }
};
HeldOutRounds held_out_rounds(const Resolved& resolved);

// Of ranks that have the same, by the host that each is on: whether they can share it out host by
// host.
std::optional<base::Problem> problem_of_hosts(const std::vector<int>& hosts);
base::Problems fsdp_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
