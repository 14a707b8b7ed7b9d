// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/mesh_rank.h"

#include <algorithm>

#include "core/experiment/buckets.h"
#include "core/experiment/stages.h"
#include "core/experiment/ties.h"
#include "core/strategy/program_size.h"
#include "core/strategy/replica.h"

namespace trainyard::strategy {
namespace {

using experiment::Cell;
using experiment::MeshCoordinates;
using experiment::Pass;

plan::Group group_of(const std::vector<int>& ranks) { return {{ranks.begin(), ranks.end()}}; }

class Room {
 public:
  Room(const experiment::Resolved& e, const MeshRank& rank,
       const experiment::Recomputation& recomputation)
      : s_(rank), recomputation_(recomputation) {
    for (const ProgramSize& program : training_of(e, rank.rank)) {
      micro_batches_ = std::max(micro_batches_, program.count());
      cells_.push_back(s_.cells(program.count()));
    }
  }

  Slots slots() const {
    Slots slots{held([](const Cell&) { return true; }, true), {}, {}, {}};
    for (std::size_t value = 0; value < s_.split.paths.size(); ++value) {
      const bool made_here = s_.owns(static_cast<int>(value));
      const int made = s_.split.stage_of(static_cast<int>(value));
      const std::int32_t kept =
          held([&](const Cell& cell) { return passes(value, cell.stage); }, !made_here);
      slots.sums.push_back(kept);
      slots.activations.push_back(
          recomputation_.frees(static_cast<int>(value))
              ? std::min(kept, slots_for_recomputed(made, s_.sends(static_cast<int>(value), true)))
              : kept);
      slots.gradients.push_back(held(
          [&](const Cell& cell) {
            return passes(value, cell.stage) &&
                   (cell.pass == Pass::backward ||
                    (cell.pass == Pass::backward_weight && cell.stage == made));
          },
          crosses(static_cast<int>(value))));
    }
    return slots;
  }

 private:
  bool passes(std::size_t value, int stage) const {
    const auto& path = s_.split.paths[value];
    return std::find(path.begin(), path.end(), stage) != path.end();
  }
  bool crosses(int value) const {
    return std::any_of(s_.split.hops.begin(), s_.split.hops.end(), [&](const Hop& hop) {
      return hop.value == value && !hop.forward() &&
             (s_.split.rank_of(hop.from) == s_.at.stage || s_.split.rank_of(hop.to) == s_.at.stage);
    });
  }

  template <class IsMeant>
  std::int32_t held(IsMeant is_meant, bool one_more) const {
    std::int32_t most = 1;
    for (const auto& cells : cells_) most = std::max(most, experiment::max_held(cells, is_meant));
    const bool ahead = one_more && s_.schedule != experiment::PipelineSchedule::naive;
    return std::clamp(most + (ahead ? 1 : 0), 1, micro_batches_);
  }

  // Returns the minimum number of slots for a recomputed output such that no micro-batch overwrites
  // another. The output exists during the forward pass of its micro-batch. It exists again from the
  // start of the backward pass to the end of that pass, or to the end of the weight gradient pass
  // if that pass is separate.
  std::int32_t slots_for_recomputed(int stage, bool sent) const {
    const bool ahead = sent && s_.schedule != experiment::PipelineSchedule::naive;
    std::int32_t count = std::min(ahead ? 2 : 1, micro_batches_);
    while (std::any_of(cells_.begin(), cells_.end(),
                       [&](const auto& cells) { return slots_conflict(cells, stage, count); }))
      ++count;
    return count;
  }

  static bool slots_conflict(const std::vector<Cell>& cells, int stage, std::int32_t count) {
    const bool waits = std::any_of(cells.begin(), cells.end(), [](const Cell& cell) {
      return cell.pass == Pass::backward_weight;
    });
    std::vector<bool> taken(static_cast<std::size_t>(count), false);
    for (const Cell& cell : cells) {
      if (cell.stage != stage) continue;
      const auto place = static_cast<std::size_t>(cell.micro % count);
      if (cell.pass == Pass::backward_weight) {
        taken[place] = false;
        continue;
      }
      if (taken[place]) return true;
      taken[place] = waits && cell.pass == Pass::backward;
    }
    return false;
  }

  const MeshRank& s_;
  const experiment::Recomputation& recomputation_;
  std::int32_t micro_batches_ = 1;
  std::vector<std::vector<Cell>> cells_;  // passes of this rank, by program
};

}  // namespace

MeshGroups::MeshGroups(const experiment::Resolved& e, const Split& split)
    : mesh_(experiment::mesh_of(e)), ways_(split.ways), shards_(experiment::shards(e)) {
  for (int replica = 0; replica < mesh_.data; ++replica)
    for (int part = 0; part < mesh_.tensor; ++part)
      for (const auto& [from, to] : ways_)
        list_.push_back(
            {{mesh_.rank_of({replica, from, part}), mesh_.rank_of({replica, to, part})}});
  std::vector<std::vector<int>> sharing_layers;
  for (int rank = 0; rank < mesh_.ranks() && mesh_.tensor > 1; rank += mesh_.tensor)
    sharing_layers.push_back(mesh_.tensor_group(rank));
  parts_ = add(sharing_layers);
  replicas_ = add(gradient_groups(e));
  alike_ = add(shards_ ? experiment::same_shard_groups(e) : std::vector<std::vector<int>>{});
  stages_ = add(statistics_groups(e));
  ties_ = add(experiment::tie_groups(e.document));
  if (!e.document.training.needs_gradient_norm() || !mesh_.sums_norms(shards_)) return;
  all_ranks_ =
      mesh_.tensor == mesh_.ranks() ? parts_.front() : static_cast<std::int32_t>(list_.size());
  if (all_ranks_ != parts_.front()) list_.push_back(world_group(e));
}

// Adds groups to the plan. Returns, for each rank, the index of its group, or -1 if the rank is in
// none of these groups.
MeshGroups::ByRank MeshGroups::add(const std::vector<std::vector<int>>& groups) {
  ByRank by_rank(static_cast<std::size_t>(mesh_.ranks()), -1);
  for (const std::vector<int>& ranks : groups) {
    for (const int rank : ranks)
      by_rank[static_cast<std::size_t>(rank)] = static_cast<std::int32_t>(list_.size());
    list_.push_back(group_of(ranks));
  }
  return by_rank;
}

// Returns the groups that sum gradients over replicas. The following ranks are in no such group: a
// rank that is called remotely, because it has no replicas, and a rank whose only parameters are a
// table that two stages share.
std::vector<std::vector<int>> MeshGroups::gradient_groups(const experiment::Resolved& e) const {
  if (shards_) return experiment::shard_groups(e);
  std::vector<std::vector<int>> groups;
  for (int stage = 0; stage < mesh_.pipeline && mesh_.replicas(stage) > 1; ++stage)
    for (int part = 0; part < mesh_.tensor; ++part)
      if (const int first = mesh_.rank_of({0, stage, part});
          !experiment::buckets(experiment::of_rank(e, first)).empty())
        groups.push_back(mesh_.replicas_of(first));
  return groups;
}

// Returns one group for each stage: the ranks of all replicas that hold shards of its split layers.
std::vector<std::vector<int>> MeshGroups::statistics_groups(const experiment::Resolved& e) const {
  std::vector<std::vector<int>> groups;
  for (int stage = 0; stage < mesh_.pipeline && shards_ && mesh_.tensor > 1; ++stage)
    for (std::vector<int>& ranks : experiment::shard_groups_within(e, mesh_.stage(stage)))
      groups.push_back(std::move(ranks));
  return groups;
}

std::int32_t MeshGroups::way(const MeshCoordinates& at, std::int32_t way, int replica) const {
  const auto& [from, to] = ways_[static_cast<std::size_t>(way)];
  return at.stage == from || at.stage == to
             ? (replica * mesh_.tensor + at.part) * static_cast<std::int32_t>(ways_.size()) + way
             : -1;
}

std::int32_t MeshGroups::statistics(int rank) const {
  if (!shards_) return parts(rank);
  return mesh_.tensor > 1 ? stages_[static_cast<std::size_t>(rank)] : replicas(rank);
}

bool MeshGroups::reports_parameters(int rank) const {
  if (!shards_) return mesh_.place_of(rank).replica == 0;
  return alike(rank) < 0 || list_[static_cast<std::size_t>(alike(rank))].position(rank) == 0;
}

bool MeshRank::sends(int value, bool forward) const {
  return std::any_of(split.hops.begin(), split.hops.end(), [&](const Hop& hop) {
    return hop.value == value && hop.forward() == forward && split.rank_of(hop.from) == at.stage;
  });
}

Slots make_slots(const experiment::Resolved& e, const MeshRank& rank,
                 const experiment::Recomputation& recomputation) {
  return Room(e, rank, recomputation).slots();
}

}  // namespace trainyard::strategy
