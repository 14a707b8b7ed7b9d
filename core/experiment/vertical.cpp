// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/vertical.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/base/units.h"
#include "core/data/columns.h"
#include "core/experiment/fields.h"
#include "core/experiment/placement.h"
#include "core/experiment/rank_duties.h"

namespace trainyard::experiment {
namespace {

using base::format_count;
using base::Problem;

Problem refused(std::string what, std::string advice) {
  return {"vertical_not_supported",
          base::ProblemCode::bad_input,
          "data.sharding.kind",
          "vertical: " + std::move(what),
          "iid, contiguous, label_skew, size_skew",
          std::move(advice)};
}

// Returns the reason why the strategy does not support vertical sharding, in which ranks exchange
// the partial products of their columns. Empty if it is supported.
std::string unsupported_reason(const StrategySpec& strategy) {
  const std::string kind(base::name_of(strategy.kind));
  if (strategy.kind == StrategyKind::data_parallel)
    return "in data_parallel rank 0 reads all samples, and sends full rows";
  if (fixed_algorithm(strategy.kind))
    return fmt::format(
        "{} only reduces gradients on one rank, but sharding of feature columns needs an exchange "
        "of rows within the passes",
        kind);
  if (strategy.kind == StrategyKind::fsdp)
    return "fsdp shards every layer, but vertical sharding already splits the first layer";
  if (strategy.kind == StrategyKind::tensor_parallel)
    return "in tensor_parallel all ranks load the same samples, and every layer is split among "
           "them";
  if (strategy.kind == StrategyKind::rpc)
    return "in rpc every trainer loads full samples, and servers load none";
  if (strategy.kind == StrategyKind::hybrid)
    return "in hybrid a rank has a shard of the model, and several ranks load the same samples";
  if (has_local_parameters(strategy.kind))
    return fmt::format(
        "in {} every rank has local parameters, but sharding of feature columns needs parameters "
        "that all ranks share",
        kind);
  if (strategy.kind == StrategyKind::tpu)
    return "tpu reduces along the rows and columns of a torus, but rows are exchanged between all "
           "pairs of ranks";
  if (averages_weights(strategy))
    return "with averaged weights the gradient of the first layer would cover only the columns of "
           "one rank";
  if (strategy.engine == Engine::nccl)
    return "nccl may split rows when it reduce-scatters, but this sharding needs full rows";
  if (strategy.engine != Engine::own)
    return fmt::format("{} supports only all-reduce here, but this sharding reduce-scatters rows",
                       base::name_of(strategy.engine));
  return "";
}

std::string unsupported_advice(const StrategySpec& strategy) {
  if (averages_weights(strategy))
    return "Set strategy.average to gradients, or data.sharding.kind to iid.";
  const bool fits = !fixed_algorithm(strategy.kind) && !has_local_parameters(strategy.kind) &&
                    strategy.kind != StrategyKind::tpu && strategy.kind != StrategyKind::fsdp &&
                    !splits_model(strategy.kind);
  return fits ? "Set strategy.engine to own, or data.sharding.kind to iid."
              : "Set strategy.kind to mirrored, multi_worker_mirrored or ddp, or "
                "data.sharding.kind to iid.";
}

// Returns the first layer that computes: flatten only changes the shape.
std::size_t first_layer(const model::ModelSpec& model) {
  const auto at = std::find_if(
      model.layers.begin(), model.layers.end(),
      [](const model::LayerSpec& layer) { return layer.kind != model::LayerKind::flatten; });
  return static_cast<std::size_t>(at - model.layers.begin());
}

base::Problems first_layer_problems(const model::ModelSpec& model) {
  const std::size_t first = first_layer(model);
  if (first == model.layers.size() || model.layers[first].kind == model::LayerKind::linear)
    return {};
  const std::string kind(base::name_of(model.layers[first].kind));
  return {refused(fmt::format("the first layer, model.layers[{}], is {}, but only the output of a "
                              "linear layer is a sum over feature columns",
                              first, kind),
                  "Begin the model with a linear layer, or set data.sharding.kind to iid.")};
}

// Checks every layer, not only the first one, because a wide layer reads the sample directly.
base::Problems lookup_problems(const model::ModelSpec& model) {
  const auto at = std::find_if(model.layers.begin(), model.layers.end(),
                               [](const model::LayerSpec& layer) { return looks_up(layer.kind); });
  if (at == model.layers.end()) return {};
  return {refused(fmt::format("model.layers[{}] is {}, which looks up all indices of a sample, but "
                              "each rank has only some columns of the sample",
                              at - model.layers.begin(), base::name_of(at->kind)),
                  "Set data.sharding.kind to iid.")};
}

// Returns the number of rows in each micro-step of one step, summed over ranks. The rank with the
// most samples determines the number of micro-steps.
std::vector<std::int64_t> rows_in_batches(const std::vector<std::int64_t>& samples,
                                          std::int64_t batch) {
  const std::int64_t most = *std::max_element(samples.begin(), samples.end());
  std::vector<std::int64_t> rows;
  for (std::int64_t done = 0; done < most; done += batch)
    rows.push_back(std::accumulate(samples.begin(), samples.end(), std::int64_t{0},
                                   [&](std::int64_t sum, std::int64_t of_rank) {
                                     return sum +
                                            std::clamp<std::int64_t>(of_rank - done, 0, batch);
                                   }));
  return rows;
}

void add(std::vector<Exchange>& list, std::int64_t rows, std::int64_t times, bool backward) {
  if (times > 0) list.push_back({rows, times, backward});
}

// Returns how often the steps of an epoch in `stretch`, which all have equal sizes, occur in the
// full run.
std::int64_t times_in_run(const Resolved& e, const data::StepRange& stretch) {
  const std::int64_t epochs = e.steps / e.steps_per_epoch, rest = e.steps % e.steps_per_epoch;
  return epochs * stretch.steps +
         std::clamp<std::int64_t>(rest - stretch.first_step, 0, stretch.steps);
}

}  // namespace

bool shards_columns(const Resolved& e) {
  return e.world() > 1 && data::owns_columns(e.document.data.sharding) &&
         e.document.strategy.kind != StrategyKind::one_device;
}

ColumnTable columns_by_rank(const Resolved& e) {
  ColumnTable list;
  for (int rank = 0; shards_columns(e) && rank < e.world(); ++rank)
    list.push_back(data::columns_of(e.data.features(), e.world(), rank));
  return list;
}

std::vector<std::string> columns_text(const Resolved& e) {
  std::vector<std::string> lines;
  for (const auto& [first, count] : columns_by_rank(e)) {
    const std::string which =
        count == 1 ? fmt::format("number {}", format_count(first))
                   : fmt::format("{} to {}", format_count(first), format_count(first + count - 1));
    lines.push_back(fmt::format("{} of {} feature columns, {}, of every sample",
                                format_count(count), format_count(e.data.features()), which));
  }
  return lines;
}

std::vector<std::int64_t> rows_of_micro_steps(const Resolved& e, std::int64_t step) {
  const data::Shares shares = e.shares();
  std::vector<std::int64_t> samples;
  samples.reserve(static_cast<std::size_t>(e.world()));
  for (int rank = 0; rank < e.world(); ++rank) samples.push_back(shares.samples(step, rank));
  return rows_in_batches(samples, e.document.training.batch_per_rank);
}

std::vector<std::int64_t> rows_of_evaluation(const Resolved& e) {
  std::vector<std::int64_t> samples;
  samples.reserve(static_cast<std::size_t>(e.world()));
  for (int rank = 0; rank < e.world(); ++rank) samples.push_back(e.held_out(rank).second);
  return rows_in_batches(samples, e.document.training.batch_per_rank);
}

collective::Work exchanged(const Resolved& e, std::int64_t rows,
                           collective::Collective collective) {
  const auto row_bytes =
      static_cast<int>(e.model.segments.front().outputs * base::size_of(gradient_dtype(e)));
  return {rows, row_bytes, e.ranks, e.hosts, collective};
}

std::vector<Exchange> exchanges(const Resolved& e) {
  std::vector<Exchange> list;
  if (!shards_columns(e)) return list;
  for (const data::StepRange& stretch : e.shares().stretches())
    for (const std::int64_t rows : rows_of_micro_steps(e, stretch.first_step))
      add(list, rows, times_in_run(e, stretch), true);
  for (const std::int64_t rows : rows_of_evaluation(e))
    add(list, rows, count_evaluations(e), false);
  return list;
}

base::Problems vertical_problems(const Experiment& experiment, const data::DataSummary* data) {
  if (!data::owns_columns(experiment.data.sharding)) return {};
  const std::int64_t ranks = count_workers(experiment.topology);
  if (const std::string reason = unsupported_reason(experiment.strategy);
      ranks > 1 && experiment.strategy.kind != StrategyKind::one_device && !reason.empty())
    return {refused(reason, unsupported_advice(experiment.strategy))};
  if (base::Problems problems = first_layer_problems(experiment.model); !problems.empty())
    return problems;
  if (base::Problems problems = lookup_problems(experiment.model); !problems.empty())
    return problems;
  if (data == nullptr || data->features() >= ranks) return {};
  return {refused(
      fmt::format("{} cannot share {}: some ranks would have no column",
                  base::counted(ranks, "rank"), base::counted(data->features(), "feature column")),
      "Use fewer workers or data with more features, or set data.sharding.kind to iid.")};
}

}  // namespace trainyard::experiment
