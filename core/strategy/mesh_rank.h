// SPDX-License-Identifier: GPL-3.0-or-later
// One rank of a mesh (experiment/mesh.h): its layers, and the groups in which it transfers and sums
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

// Groups of a mesh. They are numbered in this order: (1) pairs of ranks that transfer values
// between stages, for every pipeline; (2) the tensor ranks of every stage; (3) the replicas of a
// rank, or with sharding the ranks that shard common state; (4) with sharding, the ranks with the
// same shard; (5) with sharding, all ranks of a stage that hold parts of one segment; (6) the ranks
// that hold a tied table of two stages; (7) all ranks, if gradient norms are summed because no rank
// has the full gradient.
class MeshGroups {
 public:
  MeshGroups(const experiment::Resolved& experiment, const Split& split);

  const std::vector<plan::Group>& list() const { return list_; }
  // `way` and the following functions return the index of a group; -1 if the rank is not in such a
  // group
  std::int32_t way(const experiment::MeshCoordinates& at, std::int32_t way, int replica) const;
  std::int32_t parts(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }
  std::int32_t replicas(int rank) const { return replicas_[static_cast<std::size_t>(rank)]; }
  std::int32_t alike(int rank) const { return alike_[static_cast<std::size_t>(rank)]; }
  std::int32_t ties(int rank) const { return ties_[static_cast<std::size_t>(rank)]; }
  // group of the ranks that update different parts of the same segments, including this rank
  std::int32_t statistics(int rank) const;
  std::int32_t norms() const { return all_ranks_; }
  // True if the rank is the first of the ranks that update the same parameters. Only this first
  // rank reports these parameters.
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

// Properties of one rank that are the same for all its programs.
struct MeshRank {
  const Split& split;
  experiment::Mesh mesh;
  experiment::MeshCoordinates at;
  int rank = 0;
  experiment::PipelineSchedule schedule = experiment::PipelineSchedule::naive;
  // group and lane for each directed connection (index: Hop::way); a rank that is called remotely
  // has one connection per replica
  std::vector<std::vector<Line>> ways = {};
  Line parts = {}, replicas = {}, alike = {}, ties = {}, statistics = {}, norms = {};
  // true for the first of the ranks that update the same parameters
  bool reports_parameters = true;
  // state that is sharded among replicas; each replica updates its shard
  std::optional<Shards> shards = {};
  // buffer for the softmax: maximum and sum of exponentials of the logits of every tensor rank,
  // contiguous; invalid if every rank has all classes
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
  // True if other ranks of the pipeline read this rank's copy of a value (`forward`), or of the
  // gradient of the value.
  bool sends(int value, bool forward) const;
};

// Returns, for each buffer, the number of micro-batches that it must hold at once. A buffer of
// received values holds one more, so that the next can arrive during compute. A buffer of computed
// values holds the current micro-batch, and the micro-batches that wait for their weight gradients.
// If its values are sent, it holds one more.
Slots make_slots(const experiment::Resolved& experiment, const MeshRank& rank,
                 const experiment::Recomputation& recomputation);

}  // namespace trainyard::strategy
