// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/precision.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/experiment/buckets.h"
#include "core/experiment/compression.h"
#include "core/experiment/fields.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/servers.h"
#include "core/experiment/stages.h"

namespace trainyard::experiment {
namespace {

using base::Problem;
using base::ProblemCode;
using compute::compression::Scheme;

bool reads_row_numbers(const model::Segment& segment) {
  return segment.looks_up() || segment.kind == model::LayerKind::embedding;
}

Problem refused(const Experiment& e, const std::string& why, std::string accepted,
                std::string advice) {
  return {
      "precision_not_supported", ProblemCode::bad_input,
      "training.precision",      fmt::format("{}: {}", base::name_of(e.training.precision), why),
      std::move(accepted),       std::move(advice)};
}

// Returns the reason why ranks have no common gradient that decides whether to update or to skip,
// and the setting to use instead. Both texts are empty if ranks have a common gradient.
std::pair<std::string, std::string> no_common_gradient(const StrategySpec& strategy) {
  const std::string kind(base::name_of(strategy.kind));
  if (updates_each_micro_batch(strategy))
    return {"in pipedream every stage updates independently", "another strategy.stages.schedule"};
  if (averages_weights(strategy))
    return {"with averaged weights every rank updates with its local gradient",
            "strategy.average=gradients"};
  if (has_local_parameters(strategy.kind))
    return {fmt::format("in {} every rank updates with its local gradient", kind),
            "strategy.kind=mirrored"};
  if (has_servers(strategy.kind))
    return {fmt::format("in {} the gradient of every worker is applied separately", kind),
            "strategy.kind=mirrored"};
  return {};
}

// True if the encoding of gradients may hide that a number is not finite. Such encodings also keep
// a residual for the next step, and the loss scale may change before that step.
bool hides_scale(const compute::compression::CompressionSpec& compression) {
  return compression.kind != Scheme::none && compression.kind != Scheme::fp16 &&
         compression.kind != Scheme::bf16;
}

base::Problems loss_scale_problems(const Experiment& e) {
  const LossScaleSpec& scale = e.training.loss_scale;
  base::Problems problems;
  if (const auto [why, instead] = no_common_gradient(e.strategy); !why.empty())
    problems.push_back(refused(
        e, fmt::format("loss scaling needs the gradient of all ranks, but {}", why), "fp32, bf16",
        fmt::format("Set training.precision to bf16, which needs no loss scale, or use {}.",
                    instead)));
  if (hides_scale(e.strategy.compression))
    problems.push_back(
        refused(e,
                fmt::format("{} may hide infinite gradients, which loss scaling must detect",
                            base::name_of(e.strategy.compression.kind)),
                "none, fp16 or bf16 as compression",
                "Set training.precision to bf16, or change strategy.compression.kind."));
  if (e.training.non_finite == NonFinite::stop)
    problems.push_back(
        {"loss_scale_needs_skip", ProblemCode::bad_input, "training.non_finite",
         "non_finite=stop would end the run at the first step whose loss scale is too large, but "
         "such steps are needed to find the right scale",
         "go_on, skip",
         "Set training.non_finite to skip, its default. Steps with too large a scale are then "
         "skipped, and the run ends only if the scale falls below training.loss_scale.least."});
  if (scale.least > scale.initial)
    problems.push_back({"loss_scale_bounds", ProblemCode::bad_input, "training.loss_scale.least",
                        "the minimum loss scale is above the initial one",
                        "at most training.loss_scale.initial", "Lower training.loss_scale.least."});
  return problems;
}

}  // namespace

base::DType activation_dtype(const Resolved& e) {
  switch (e.document.training.precision) {
    case Precision::bf16: return base::DType::bf16;
    case Precision::fp16: return base::DType::fp16;
    default: return gradient_dtype(e);
  }
}

base::DType input_dtype(const Resolved& e) {
  return std::any_of(e.model.segments.begin(), e.model.segments.end(), reads_row_numbers)
             ? gradient_dtype(e)
             : activation_dtype(e);
}

base::Problems precision_problems(const Experiment& e) {
  if (!is_mixed(e.training.precision)) return {};
  base::Problems problems =
      e.training.precision == Precision::fp16 ? loss_scale_problems(e) : base::Problems{};
  if (data::owns_columns(e.data.sharding))
    problems.push_back(refused(
        e, "vertical sharding sums the products of the first layer over ranks, which needs fp32",
        "fp32, fp64", "Set training.precision to fp32, or data.sharding.kind to iid."));
  if (e.strategy.kind == StrategyKind::tpu)
    problems.push_back(refused(
        e, "the emulated tpu stores fp32 and rounds only the inputs of matrix multiplications",
        "fp32", "Take fp32, or mirrored."));
  return problems;
}

}  // namespace trainyard::experiment
