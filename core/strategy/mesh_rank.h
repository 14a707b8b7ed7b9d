// SPDX-License-Identifier: GPL-3.0-or-later
// One rank of a mesh (experiment/mesh.h): its layers, and the groups by which it passes on and sums
// values.
#pragma once

#include <optional>
#include <vector>

#include "core/experiment/cells.h"
#include "core/experiment/mesh.h"
#include "core/experiment/recomputation.h"
#include "core/strategy/group_lane.h"
#include "core/strategy/hops.h"
#include "core/strategy/replica_buffers.h"
#include "core/strategy/shard_ops.h"

namespace trainyard::strategy {

// Groups of a mesh, by number, in this order: the ways of every pipeline; the tensor ranks of every
// stage; the replicas of each of these or, with shards, the ranks that shard common state among
// themselves, then the ranks with the same shard, then all ranks of a stage that hold parts of one
// segment; the ranks that hold a table which layers of two stages share; and all ranks, if norms
// are summed because no rank has the full gradient.
class MeshGroups {
 public:
  MeshGroups(const experiment::Resolved& experiment, const Split& split);

  const std::vector<plan::Group>& list() const { return list_; }
  std::int32_t way(const experiment::MeshCoordinates& at, std::int32_t way,
                   int replica) const;  // these functions return -1 if the rank is in no such group
  std::int32_t parts(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }
  std::int32_t replicas(int rank) const { return replicas_[static_cast<std::size_t>(rank)]; }
  std::int32_t alike(int rank) const { return alike_[static_cast<std::size_t>(rank)]; }
  std::int32_t ties(int rank) const { return ties_[static_cast<std::size_t>(rank)]; }
  std::int32_t statistics(
      int rank) const;  // ranks that update parts of the same segments as this rank
  std::int32_t norms() const { return all_ranks_; }
  // True if the rank is the first of those that update the same parameters.
  bool reports_parameters(int rank) const;

 private:
  using ByRank = std::vector<std::int32_t>;
  ByRank add(const std::vector<std::vector<int>>& groups);
  std::vector<std::vector<int>> gradient_groups(const experiment::Resolved& e) const;
  std::vector<std::vector<int>> statistics_groups(const experiment::Resolved& e) const;

  experiment::Mesh mesh_;
  std::vector<std::pair<int, int>> ways_;
  std::vector<plan::Group> list_;
  ByRank parts_, replicas_, alike_, stages_, ties_;
  std::int32_t all_ranks_ = -1;
  bool shards_ = false;
};

// Properties of one rank that all its programs share.
struct MeshRank {
  const Split& split;
  experiment::Mesh mesh;
  experiment::MeshCoordinates at;
  int rank = 0;
  experiment::PipelineSchedule schedule = experiment::PipelineSchedule::naive;
  std::vector<std::vector<Line>> ways =
      {};  // by way and replica if the rank is called remotely, else by way
  Line parts = {}, replicas = {}, alike = {}, ties = {}, statistics = {}, norms = {};
  bool reports_parameters = true;  // first of the ranks that update the same parameters
  std::optional<Shards> shards =
      {};  // sharding of common state among replicas, each of which updates its shard
  // softmax summaries of all tensor ranks' logits, contiguous; invalid if every rank has all
  // classes
  plan::Access summaries = {};

  std::vector<experiment::Cell> cells(std::int32_t micro_batches) const {
    return experiment::cells_of(schedule, split.ranks(), at.stage, micro_batches, mesh.callers(at));
  }
  bool takes(std::int32_t micro) const { return mesh.callers(at).has(micro); }
  const Line& line(std::int32_t way, std::int32_t micro) const {
    const auto& lines = ways[static_cast<std::size_t>(way)];
    return lines[static_cast<std::size_t>(lines.size() > 1 ? replica_of(micro) : 0)];
  }
  int replica_of(std::int32_t micro) const { return mesh.calls ? micro % mesh.data : at.replica; }
  bool owns(int segment) const {
    return split.owners[static_cast<std::size_t>(segment)] == at.stage;
  }
  const model::Stage& stage(int number) const {
    return split.stages[static_cast<std::size_t>(number)];
  }
  bool has_loss() const { return split.rank_of(split.last()) == at.stage; }
  bool reports_samples() const { return has_loss() && at.part == 0; }
  // True if peers along the pipeline read the rank's copy of a value.
  bool sends(int value, bool forward) const;
};

// Returns the numbers of micro-batches that a rank's buffers must hold at once. Received values
// have one more, so that the next can arrive during compute. ReplayResult values have one for the
// current micro-batch, one for each that waits for its weight gradients and, if they are sent, one
// more.
Slots make_slots(const experiment::Resolved& experiment, const MeshRank& rank,
                 const experiment::Recomputation& recomputation);

}  // namespace trainyard::strategy
