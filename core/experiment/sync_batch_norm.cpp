// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/sync_batch_norm.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/experiment/fields.h"
#include "core/experiment/mesh.h"
#include "core/experiment/placement.h"
#include "core/experiment/rank_duties.h"

namespace trainyard::experiment {
namespace {

bool is_sync_batch_norm(const model::LayerSpec& layer) {
  return layer.kind == model::LayerKind::batch_norm && layer.synchronized;
}

// Returns the reason why the strategy does not support synchronized batch normalization: the batch
// statistics cannot be summed over ranks, or the sums would mix different batches. Empty if it is
// supported.
std::string unsupported_reason(const Experiment& experiment) {
  const StrategySpec& strategy = experiment.strategy;
  const std::string kind(base::name_of(strategy.kind));
  if (has_stages(strategy.kind) && mesh_of(experiment).data > 1)
    return fmt::format(
        "in {}, {} reduce only after the backward pass, but synchronized batch_norm needs sums "
        "within the passes",
        kind, strategy.kind == StrategyKind::rpc ? "trainers" : "replicas");
  if (splits_model(strategy.kind)) return "";
  if (fixed_algorithm(strategy.kind))
    return fmt::format(
        "{} reduces on one rank after the passes, but synchronized batch_norm needs sums over all "
        "ranks within the passes",
        kind);
  if (has_local_parameters(strategy.kind))
    return fmt::format("in {}, every rank has local parameters and a local batch", kind);
  if (averages_weights(strategy))
    return "with averaged weights each gradient is a mean over local samples, and ranks with "
           "unequal numbers of samples cannot sum these means";
  return "";
}

std::int64_t micro_steps(const Resolved& e, const data::Shares& shares, std::int64_t step) {
  const std::int64_t batch = e.document.training.batch_per_rank;
  return (max_samples(shares, step) + batch - 1) / batch;
}

// Returns the number of micro-steps in the first `steps` steps of an epoch.
std::int64_t micro_steps_of_epoch(const Resolved& e, std::int64_t steps) {
  const data::Shares shares = e.shares();
  std::int64_t count = 0;
  for (const data::StepRange& stretch : shares.stretches())
    count += std::clamp<std::int64_t>(steps - stretch.first_step, 0, stretch.steps) *
             micro_steps(e, shares, stretch.first_step);
  return count;
}

}  // namespace

bool synchronizes(const Resolved& e) {
  const StrategySpec& strategy = e.document.strategy;
  if (splits_model(strategy.kind))
    return false;  // Only one rank has the layer, and that rank sees the full micro-batch.
  if (e.world() < 2 || strategy.kind == StrategyKind::one_device ||
      !unsupported_reason(e.document).empty())
    return false;
  return std::any_of(e.model.segments.begin(), e.model.segments.end(),
                     [](const model::Segment& segment) { return segment.synchronized; });
}

bool has_local_statistics(const model::Model& model) {
  return std::ranges::any_of(model.segments, [](const model::Segment& segment) {
    return segment.kind == model::LayerKind::batch_norm && !segment.synchronized;
  });
}

bool sums_gradients(const model::Model& model, int segment) {
  return segment > model.first_with_parameters;
}

std::vector<std::int64_t> summed_elements(const Resolved& e) {
  std::vector<std::int64_t> list;
  for (std::size_t s = 0; synchronizes(e) && s < e.model.segments.size(); ++s) {
    const model::Segment& segment = e.model.segments[s];
    if (!segment.synchronized) continue;
    list.push_back(2 * segment.channels() + 1);
    if (sums_gradients(e.model, static_cast<int>(s))) list.push_back(2 * segment.channels());
  }
  return list;
}

std::int64_t max_samples(const data::Shares& shares, std::int64_t step) {
  std::int64_t most = 0;
  for (std::int64_t rank = 0; rank < shares.ranks(); ++rank)
    most = std::max(most, shares.samples(step, rank));
  return most;
}

std::int64_t count_micro_steps(const Resolved& e) {
  const std::int64_t epochs = e.steps / e.steps_per_epoch, rest = e.steps % e.steps_per_epoch;
  return epochs * micro_steps_of_epoch(e, e.steps_per_epoch) + micro_steps_of_epoch(e, rest);
}

base::Problems sync_batch_norm_problems(const Experiment& experiment) {
  const std::string reason = unsupported_reason(experiment);
  if (reason.empty()) return {};
  base::Problems problems;
  for (std::size_t i = 0; i < experiment.model.layers.size(); ++i)
    if (is_sync_batch_norm(experiment.model.layers[i]))
      problems.push_back({"synchronized_not_supported", base::ProblemCode::bad_input,
                          fmt::format("model.layers[{}].synchronized", i), reason, "false",
                          averages_weights(experiment.strategy)
                              ? "Set synchronized to false, or strategy.average to gradients."
                              : "Set synchronized to false, or strategy.kind to mirrored, "
                                "multi_worker_mirrored or ddp."});
  return problems;
}

}  // namespace trainyard::experiment
