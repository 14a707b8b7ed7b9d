// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/recomputation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "core/experiment/buckets.h"
#include "core/experiment/cells.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/mesh.h"
#include "core/experiment/stages.h"
#include "core/experiment/sync_batch_norm.h"
#include "core/experiment/vertical.h"
#include "core/model/local_model.h"
#include "core/model/split.h"

namespace trainyard::experiment {
namespace {

using Runs = std::vector<Run>;

void add_runs(int first, int last, std::int64_t k, Runs& runs) {
  for (std::int64_t s = first; s <= last; s += k)
    runs.push_back(
        {static_cast<int>(s), static_cast<int>(std::min<std::int64_t>(s + k - 1, last)), {}});
}

void drop_last(Runs& runs) {
  if (!runs.empty()) runs.pop_back();
}

// True if the rank always runs the backward pass of a micro-batch through the stage right after the
// forward pass of the same micro-batch.
bool runs_backward_immediately(const Resolved& e, const std::vector<model::Stage>& stages,
                               int stage, int rank) {
  const Mesh mesh = mesh_of(e);
  const CallerSet callers = mesh.callers(mesh.place_of(rank));
  std::vector<int> ranks;
  ranks.reserve(stages.size());
  for (const model::Stage& one : stages) ranks.push_back(one.rank);
  const data::Shares shares = e.shares();
  const std::int64_t batch = e.document.training.batch_per_rank;
  for (const data::StepRange& stretch : shares.stretches()) {
    const auto micro_batches =
        callers.count *
        static_cast<int>((max_samples(shares, stretch.first_step) + batch - 1) / batch);
    const auto cells = cells_of(schedule_of(e.document.strategy), ranks,
                                ranks[static_cast<std::size_t>(stage)], micro_batches, callers);
    for (std::size_t i = 0; i + 1 < cells.size(); ++i)
      if (cells[i].pass == Pass::forward && cells[i].stage == stage &&
          !(cells[i + 1] == Cell{Pass::backward, stage, cells[i].micro}))
        return false;
  }
  return true;
}

// Determines which segment outputs a rank frees after the forward pass, to recompute them later.
class FreedOutputs {
 public:
  FreedOutputs(const Resolved& e, int rank)
      : model_(e.model),
        splits_(model::splits_of(e.model, mesh_of(e).tensor)),
        given_up_(e.model.segments.size(), false) {
    const std::int64_t k = e.document.training.recompute_segments;
    if (has_stages(e.document.strategy.kind)) find_stages(e, k, rank);
    else if (shards(e)) find_units(e, k);
    else find_replica(e, k);
  }

  Recomputation find() {
    for (const Run& run : runs_)
      for (int s = run.first; s <= run.last; ++s)
        given_up_[static_cast<std::size_t>(s)] = stays_in(run, s);
    for (Run& run : runs_) run.again = recomputed_outputs(run);
    std::erase_if(runs_, [&](const Run& run) {
      return std::none_of(given_up_.begin() + run.first, given_up_.begin() + run.last + 1,
                          [](bool freed) { return freed; });
    });
    return {std::move(runs_), std::move(given_up_)};
  }

 private:
  int last() const { return static_cast<int>(model_.segments.size()) - 1; }

  void find_stages(const Resolved& e, std::int64_t k, int rank) {
    owners_ = owners_of(e);
    own_ = mesh_of(e).place_of(rank).stage;
    const model::StageGraph stage_graph = stage_graph_of(e);
    stages_ = stage_graph.stages;
    paths_ = stage_graph.paths;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (stages_[i].rank != own_) continue;
      if (shards_parameters(e)) add_units(of_rank(e, rank), stages_[i], k);
      else add_runs(stages_[i].first, stages_[i].last, k, runs_);
      if (runs_backward_immediately(e, stages_, static_cast<int>(i), rank)) drop_last(runs_);
    }
  }

  void find_units(const Resolved& e, std::int64_t k) {
    add_units(e, {0, last(), 0}, k);
    drop_last(runs_);
  }

  void add_units(const Resolved& own, const model::Stage& stage, std::int64_t k) {
    const std::vector<Bucket> units = buckets(own);
    for (auto unit = units.rbegin(); unit != units.rend(); ++unit)
      if (stage.has(unit->last_segment))
        add_runs(unit->first_segment, unit->last_segment, k, runs_);
  }

  // Finds the sequences of recomputed segments of a rank that has all layers. Skips a first layer
  // that is split by columns: its output is summed over ranks, so it is kept.
  void find_replica(const Resolved& e, std::int64_t k) {
    add_runs(shards_columns(e) ? 1 : 0, last(), k, runs_);
    drop_last(runs_);
  }

  // True if the segment is on this rank. Outputs that only other ranks read need not be kept on
  // this rank, because those ranks receive them.
  bool is_local(int segment) const {
    return owners_.empty() || owners_[static_cast<std::size_t>(segment)] == own_;
  }

  // True if the output was summed over ranks: recomputing it would require another all-reduce.
  bool is_sum(int output) const {
    const model::Split split = splits_[static_cast<std::size_t>(output)];
    return split == model::Split::inputs || split == model::Split::rows;
  }

  bool stays_in(const Run& run, int output) const {
    if (is_sum(output)) return false;
    for (int s = 0; s <= last(); ++s) {
      if ((run.first <= s && s <= run.last) || !is_local(s)) continue;
      for (const auto& read : {model::inputs_of(model_, s), model::backward_inputs_of(model_, s)})
        if (std::find(read.begin(), read.end(), output) != read.end()) return false;
    }
    return !returns_to_rank(output);
  }

  // True if an output leaves this rank and returns to a later stage of this rank, which sends it on
  // to another stage.
  bool returns_to_rank(int output) const {
    if (paths_.empty()) return false;
    const auto& path = paths_[static_cast<std::size_t>(output)];
    return std::count_if(path.begin(), path.end(), [&](int stage) {
             return stages_[static_cast<std::size_t>(stage)].rank == own_;
           }) > 1;
  }

  std::vector<int> recomputed_outputs(const Run& run) const {
    std::vector<bool> wanted(model_.segments.size(), false);
    const auto want_output = [&](int output) {
      if (run.first <= output && output <= run.last && given_up_[static_cast<std::size_t>(output)])
        wanted[static_cast<std::size_t>(output)] = true;
    };
    if (run.last == last() && (stages_.empty() || stages_.back().rank == own_))
      want_output(last());  // The loss reads the last output.
    for (int s = run.first; s <= run.last; ++s)
      for (const int output : model::backward_inputs_of(model_, s)) want_output(output);
    for (int s = run.last; s >= run.first; --s)
      for (const int output :
           wanted[static_cast<std::size_t>(s)] ? model::inputs_of(model_, s) : std::vector<int>{})
        want_output(output);
    std::vector<int> again;
    for (int s = run.first; s <= run.last; ++s)
      if (wanted[static_cast<std::size_t>(s)]) again.push_back(s);
    return again;
  }

  const model::Model& model_;
  std::vector<model::Split> splits_;  // How each segment is split among ranks that share layers.
  Runs runs_;
  std::vector<bool> given_up_;
  // Position of the rank in the pipeline. This and the next three members are used only with
  // stages.
  int own_ = 0;
  std::vector<int> owners_;
  std::vector<model::Stage> stages_;
  std::vector<std::vector<int>> paths_;
};

// Floating-point operations per sample, summed over all ranks.
struct Sum {
  std::int64_t freed = 0, again = 0;  // Number of outputs that are freed, and that are recomputed.
  std::int64_t flops = 0, flops_again = 0;
};

// Sums over the stages of one replica, because all replicas are alike.
Sum sum_of(const Resolved& e) {
  const model::Model& model = e.model;
  Sum sum;
  const Mesh mesh = mesh_of(e);
  for (int stage = 0; stage < mesh.pipeline; ++stage) {
    const Recomputation of_rank = recomputation_of(e, mesh.rank_of({0, stage, 0}));
    sum.freed += std::count(of_rank.freed.begin(), of_rank.freed.end(), true);
    for (const Run& run : of_rank.runs)
      for (const int s : run.again) {
        const model::Segment& segment = model.segments[static_cast<std::size_t>(s)];
        ++sum.again;
        sum.flops_again += segment.forward_flops() - segment.sums_flops();
      }
  }
  for (int s = 0; s < static_cast<int>(model.segments.size()); ++s) {
    const model::Segment& segment = model.segments[static_cast<std::size_t>(s)];
    sum.flops += segment.forward_flops() +
                 (s > model.first_with_parameters ? segment.backward_input_flops() : 0) +
                 (model.owner(segment).elements > 0 ? segment.backward_weight_flops() : 0);
  }
  return sum;
}

double share_of(const Sum& sum) {
  return static_cast<double>(sum.flops_again) / static_cast<double>(sum.flops);
}

}  // namespace

const Run* Recomputation::ending_with(int segment) const {
  const auto at = std::find_if(runs.begin(), runs.end(),
                               [segment](const Run& run) { return run.last == segment; });
  return at == runs.end() ? nullptr : &*at;
}

Recomputation recomputation_of(const Resolved& resolved, int rank) {
  if (resolved.document.training.recompute_segments == 0) return {};
  return FreedOutputs(resolved, rank).find();
}

double recomputed_share(const Resolved& resolved) { return share_of(sum_of(resolved)); }

std::optional<std::string> recomputation_line(const Resolved& resolved) {
  const std::int64_t k = resolved.document.training.recompute_segments;
  if (k == 0) return std::nullopt;
  const Sum sum = sum_of(resolved);
  if (sum.freed == 0)
    return fmt::format(
        "nothing is recomputed: segments are grouped by {}, and no group has an output that can be "
        "freed",
        base::format_count(k));
  return fmt::format(
      "activation checkpointing frees {} of {} after the forward pass and recomputes {} before the "
      "backward pass: {} % more operations",
      base::format_count(sum.freed), base::counted(std::ssize(resolved.model.segments), "output"),
      base::format_count(sum.again), std::lround(100 * share_of(sum)));
}

}  // namespace trainyard::experiment
