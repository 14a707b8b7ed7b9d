// SPDX-License-Identifier: GPL-3.0-or-later
// One rank of a mesh (experiment/mesh.h): what it has, and by which groups it hands on and sums.
#pragma once

#include <optional>
#include <vector>

#include "core/experiment/cells.h"
#include "core/experiment/mesh.h"
#include "core/experiment/recomputation.h"
#include "core/strategy/hops.h"
#include "core/strategy/line.h"
#include "core/strategy/own_part_ops.h"
#include "core/strategy/replica_buffers.h"

namespace trainyard::strategy {

// The groups of a mesh, by number: of every pipeline its ways; of every part of a stage; of all
// replicas of these, or where they share out what they have alike of those who do so among them,
// then of those who have the same part of it, and of all of a stage who have parts of one; of those
// who have a table that layers of two stages share; and of everybody, where norms are summed that
// no rank has whole.
class MeshGroups {
 public:
  MeshGroups(const experiment::Resolved& experiment, const Split& split);

  const std::vector<plan::Group>& list() const { return list_; }
  std::int32_t way(const experiment::MeshPlace& at, std::int32_t way,
                   int replica) const;  // as the next ones, -1 where the rank is in none
  std::int32_t parts(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }
  std::int32_t replicas(int rank) const { return replicas_[static_cast<std::size_t>(rank)]; }
  std::int32_t alike(int rank) const { return alike_[static_cast<std::size_t>(rank)]; }
  std::int32_t ties(int rank) const { return ties_[static_cast<std::size_t>(rank)]; }
  std::int32_t statistics(
      int rank) const;  // of who updates some of a segment that the rank updates
  std::int32_t norms() const { return everyone_; }
  // Whether of those who update the same the rank is the first.
  bool speaks(int rank) const;

 private:
  using ByRank = std::vector<std::int32_t>;
  ByRank add(const std::vector<std::vector<int>>& groups);
  std::vector<std::vector<int>> who_sums(const experiment::Resolved& e) const;
  std::vector<std::vector<int>> who_tells(const experiment::Resolved& e) const;

  experiment::Mesh mesh_;
  std::vector<std::pair<int, int>> ways_;
  std::vector<plan::Group> list_;
  ByRank parts_, replicas_, alike_, stages_, ties_;
  std::int32_t everyone_ = -1;
  bool shards_ = false;
};

// What one rank does, in any program.
struct MeshRank {
  const Split& split;
  experiment::Mesh mesh;
  experiment::MeshPlace at;
  int rank = 0;
  experiment::PipelineSchedule schedule = experiment::PipelineSchedule::naive;
  std::vector<std::vector<Line>> ways =
      {};  // by way and replica, where the rank is called; else the rank's own
  Line parts = {}, replicas = {}, alike = {}, ties = {}, statistics = {}, norms = {};
  bool speaks = true;  // of those who update the same, it is the first
  std::optional<Shards> shards =
      {};                       // of what replicas have alike, where each updates but its part
  plan::Access summaries = {};  // of the logits, of all parts one after another; invalid where
                                // every rank has all classes

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
  bool tells_of_samples() const { return has_loss() && at.part == 0; }
  // Whether peers along the pipeline read what the rank has of a value.
  bool sends(int value, bool forward) const;
};

// Room for all micro-batches that a rank holds at once. Of what comes from elsewhere one more, that
// the next may come while it computes. Of what is given up, for the one that computes, and those
// whose gradients of weights wait for it; where it is sent, one more.
Slots room_for(const experiment::Resolved& experiment, const MeshRank& rank,
               const experiment::Recomputation& recomputation);

}  // namespace trainyard::strategy
