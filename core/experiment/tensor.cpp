// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/tensor.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/base/units.h"
#include "core/experiment/fields.h"
#include "core/experiment/mesh.h"
#include "core/experiment/placement.h"
#include "core/experiment/precision.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/stages.h"
#include "core/model/split.h"

namespace trainyard::experiment {
namespace {

using base::format_count;
using base::ProblemCode;
using collective::Collective;

// Returns a text such as "layer 0 by rows of its table".
std::string split_layers(const model::Model& part, model::Split split, const std::string& by) {
  std::vector<std::string> places;
  for (const model::Segment& segment : part.segments)
    if (segment.split == split) places.push_back(place_name(segment));
  if (places.empty()) return "";
  if (places.size() == 1) return fmt::format("layer {} is split {}", places.front(), by);
  if (places.size() == 2)
    return fmt::format("layers {} and {} are split {}", places[0], places[1], by);
  return fmt::format("{} layers from {} to {} are split {}", format_count(std::ssize(places)),
                     places.front(), places.back(), by);
}

base::Problem refused(std::string where, std::string what, std::string accepted,
                      std::string advice) {
  return {"cannot_split_layers", ProblemCode::bad_input, std::move(where),
          std::move(what),       std::move(accepted),    std::move(advice)};
}

// Returns the document path of the first attention or transformer layer with this number of heads.
std::string place_of_heads(const model::ModelSpec& spec, std::int64_t heads) {
  const auto has = [heads](const model::LayerSpec& layer) {
    return (layer.kind == model::LayerKind::attention ||
            layer.kind == model::LayerKind::transformer) &&
           layer.heads == heads;
  };
  const auto at = std::ranges::find_if(spec.layers, has);
  return at == spec.layers.end() ? "model.layers"
                                 : fmt::format("model.layers[{}].heads", at - spec.layers.begin());
}

}  // namespace

bool splits_layers(const Resolved& resolved) { return mesh_of(resolved).tensor > 1; }

std::vector<LayerSum> layer_sums(const Resolved& e) {
  std::vector<LayerSum> list;
  if (!splits_layers(e)) return list;
  const int ranks = mesh_of(e).tensor;
  const model::Model part = model::split_of(e.model, ranks, 0);
  for (int s = 0; s < static_cast<int>(part.segments.size()); ++s) {
    const model::Segment& segment = part.segments[static_cast<std::size_t>(s)];
    if (model::sums_outputs(segment))
      list.push_back({s, false, {Collective::all_reduce, activation_dtype(e), segment.outputs}});
    if (s > part.first_with_parameters && model::sums_input_gradient(segment))
      list.push_back({s, true, {Collective::all_reduce, activation_dtype(e), segment.inputs}});
  }
  if (model::splits_classes(part))
    list.push_back({static_cast<int>(part.segments.size()) - 1,
                    false,
                    {Collective::all_gather, base::DType::fp64,
                     model::kSoftmaxSummary * ranks * part.labels()}});
  return list;
}

void for_each_micro_batch(
    const Resolved& e, int rank,
    const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) {
  const std::int64_t batch = e.document.training.batch_per_rank,
                     passes = e.steps / e.steps_per_epoch, rest = e.steps % e.steps_per_epoch;
  const auto cut = [&](std::int64_t samples, std::int64_t train, std::int64_t evaluate) {
    if (samples >= batch) visit(batch, train * (samples / batch), evaluate * (samples / batch));
    if (samples % batch > 0) visit(samples % batch, train, evaluate);
  };
  const data::Shares shares = e.shares();
  for (const data::StepRange& stretch : shares.stretches())
    cut(shares.samples(stretch.first_step, share_of(e, rank)),
        passes * stretch.steps +
            std::clamp<std::int64_t>(rest - stretch.first_step, 0, stretch.steps),
        0);
  cut(e.held_out(rank).second, 0, count_evaluations(e));
}

// True if ranks that split layers are on several hosts. False for a mesh, because a mesh requires
// each tensor group to be on one host.
bool is_on_several_hosts(const Resolved& e) {
  return e.document.strategy.kind == StrategyKind::tensor_parallel &&
         std::ranges::count(e.hosts, e.hosts.front()) < std::ssize(e.hosts);
}

std::optional<std::string> tensor_split_text(const Resolved& e) {
  if (!splits_layers(e)) return std::nullopt;
  const model::Model part = model::split_of(e.model, mesh_of(e).tensor, 0);
  std::string text;
  for (const auto& [split, by] : {std::pair{model::Split::rows, "by rows of its table"},
                                  {model::Split::outputs, "by outputs"},
                                  {model::Split::inputs, "by inputs"}})
    if (const std::string layers = split_layers(part, split, by); !layers.empty())
      text += (text.empty() ? "" : ", ") + layers;
  return fmt::format(
      "{}; every rank has all other layers in full{}{}", text,
      has_stages(e.document.strategy.kind) ? " of its stage" : "",
      is_on_several_hosts(e)
          ? "; ranks that share layers are on several hosts, and outputs and gradients of these "
            "layers are all-reduced between the hosts twice per micro-batch"
          : "");
}

base::Problems tensor_problems(const Experiment& experiment, const model::Model& model) {
  const int ranks = mesh_of(experiment).tensor;
  if (ranks < 2) return {};
  const bool mesh = experiment.strategy.kind == StrategyKind::hybrid;
  base::Problems problems;
  if (const std::int64_t heads = model::undivided_heads(model, ranks); heads > 0)
    problems.push_back(
        refused(place_of_heads(experiment.model, heads),
                fmt::format("{} cannot be divided evenly among {}",
                            base::counted(heads, "attention head"), base::counted(ranks, "worker")),
                fmt::format("a multiple of {} heads", format_count(ranks)),
                mesh ? "Change the number of heads, or lower strategy.mesh.tensor."
                     : "Change the number of heads, or set the role of some devices to idle."));
  const std::vector<model::Split> splits = model::splits_of(model, ranks);
  if (std::all_of(splits.begin(), splits.end(),
                  [](model::Split split) { return split == model::Split::none; }))
    problems.push_back(refused(
        mesh ? "strategy.mesh.tensor" : "strategy.kind",
        fmt::format("the model has no layer that {} can split among {}",
                    base::name_of(experiment.strategy.kind), base::counted(ranks, "worker")),
        "two consecutive linear layers, or a last one with at least as many classes as workers",
        mesh ? "Lower strategy.mesh.tensor, or use wider layers."
             : "Use fewer workers or wider layers, or set strategy.kind to model_parallel, which "
               "does not split layers."));
  return problems;
}

}  // namespace trainyard::experiment
