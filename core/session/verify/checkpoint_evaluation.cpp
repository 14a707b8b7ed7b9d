// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/verify/checkpoint_evaluation.h"

#include <optional>

#include "core/experiment/precision.h"
#include "core/run/bind/private_memory.h"
#include "core/session/rank/evaluator.h"
#include "core/session/rank/recipe.h"
#include "core/strategy/mixed.h"
#include "core/strategy/replica.h"
#include "core/topology/network.h"

namespace trainyard::session {
namespace {

using base::Result;
using telemetry::Metric;

constexpr const char* kWhere = "the evaluation of the checkpoint";

// Returns the plan of one device that evaluates all held-out samples.
plan::RankPlan evaluation_plan(const experiment::Resolved& e) {
  plan::RankPlan rank = strategy::evaluator(e, 0);
  return experiment::is_mixed(e.document.training.precision)
             ? strategy::in_mixed_precision(std::move(rank), e)
             : rank;
}

// Evaluator without a coordinator and without other ranks.
class SingleEvaluator {
 public:
  SingleEvaluator(const experiment::Resolved& e, std::unique_ptr<compute::Compute> compute)
      : e_(e),
        compute_(std::move(compute)),
        recipe_(recipe(e)),
        plan_(evaluation_plan(e)),
        layout_(run::layout(plan_)) {}

  Result<EvaluatedCheckpoint> evaluate(const std::filesystem::path& checkpoints) {
    return bind().and_then([&] { return run(checkpoints); });
  }

 private:
  Result<void> bind() {
    auto private_memory = run::PrivateMemory::make(layout_, *compute_, kWhere);
    if (!private_memory) return base::fail(private_memory.error());
    private_memory_.emplace(std::move(*private_memory));
    auto shared = compute_->allocate(layout_.shared_bytes, kWhere);
    if (!shared) return base::fail(shared.error());
    shared_ = std::move(*shared);
    auto bound =
        run::bind(plan_, {}, e_.model, recipe_, *compute_, private_memory_->arena(),
                  std::span(shared_.get(), static_cast<std::size_t>(layout_.shared_bytes)));
    if (!bound) return base::fail(bound.error());
    bound_ = std::move(*bound);
    auto dataset = data::open(e_.document.data, "");
    if (!dataset) return base::fail(data::at_field(dataset.error(), e_.document.data, ""));
    dataset_ = std::move(*dataset);
    return {};
  }

  Result<EvaluatedCheckpoint> run(const std::filesystem::path& checkpoints) {
    run::Gate gate;
    run::RankProgress progress;
    telemetry::EventRing events;
    run::Interpreter interpreter({.plan = &plan_,
                                  .schedule = {},
                                  .bound = &bound_,
                                  .model = &e_.model,
                                  .recipe = &recipe_,
                                  .compute = compute_.get(),
                                  .dataset = dataset_,
                                  .held_out = {0, e_.data.held_out_samples},
                                  .events = &events,
                                  .record_ops = false,
                                  .gate = &gate,
                                  .rank_progress = &progress,
                                  .is_own_process = false});
    LatestCommit committed;
    committed.put({0, true});
    std::optional<base::Problem> unreadable;
    const auto steps = evaluate_checkpoints(
        {checkpoints, &e_.model, &bound_, &interpreter, &gate, &progress, &committed,
         [&](const base::Problem& problem) { unreadable = problem; }});
    if (!steps) return base::fail(steps.error());
    EvaluatedCheckpoint evaluated = figures_of(events);
    if (evaluated.samples <= 0)
      return base::fail(unreadable.value_or(
          base::Problem{"no_held_out_samples", base::ProblemCode::bad_input, checkpoints.string(),
                        "the evaluation had no held-out samples", "", ""}));
    evaluated.step = *steps;
    return evaluated;
  }

  static EvaluatedCheckpoint figures_of(telemetry::EventRing& ring) {
    std::vector<telemetry::Event> events;
    ring.read(events);
    EvaluatedCheckpoint figures;
    for (const telemetry::Event& event : events) {
      if (event.kind != telemetry::EventKind::metric) continue;
      const Metric metric{event.subject};
      if (metric == Metric::held_out_loss_sum) figures.loss_sum += event.value;
      if (metric == Metric::held_out_correct) figures.correct += event.value;
      if (metric == Metric::held_out_samples) figures.samples += event.value;
    }
    return figures;
  }

  const experiment::Resolved& e_;
  std::unique_ptr<compute::Compute> compute_;
  run::Recipe recipe_;
  plan::RankPlan plan_;
  run::Layout layout_;
  std::optional<run::PrivateMemory> private_memory_;
  compute::Memory shared_;
  run::BoundPlan bound_;
  std::shared_ptr<const data::Dataset> dataset_;
};

}  // namespace

Result<EvaluatedCheckpoint> evaluate_newest_checkpoint(const experiment::Resolved& experiment,
                                                       const std::filesystem::path& checkpoints,
                                                       const MakeCompute& make_compute) {
  const int rank = experiment.evaluators > 0 ? experiment.world() - 1 : experiment.chief;
  const topology::Network network(experiment.document.topology);
  return make_compute(network.device(experiment.ranks[static_cast<std::size_t>(rank)]))
      .and_then([&](std::unique_ptr<compute::Compute> compute) {
        return SingleEvaluator(experiment, std::move(compute)).evaluate(checkpoints);
      });
}

}  // namespace trainyard::session
