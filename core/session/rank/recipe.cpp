// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/rank/recipe.h"

#include <algorithm>

#include "core/compute/host_copy.h"
#include "core/compute/ops.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/mesh.h"
#include "core/experiment/servers.h"
#include "core/experiment/sync_batch_norm.h"

namespace trainyard::session {
namespace {

using compute::Tensor;
using Moments = std::span<const Tensor>;

compute::Op sgd(const experiment::OptimizerSpec& o, const compute::UpdateInputs& common,
                Moments moments) {
  return compute::SgdUpdate{common, moments.empty() ? Tensor{} : moments[0], o.momentum,
                            o.weight_decay};
}

compute::Op adam(const experiment::OptimizerSpec& o, const compute::UpdateInputs& common,
                 Moments moments, const Tensor& step) {
  return compute::AdamUpdate{common,    moments[0],     moments[1],
                             step,      o.beta1,        o.beta2,
                             o.epsilon, o.weight_decay, o.kind == experiment::OptimizerKind::adamw};
}

}  // namespace

run::Recipe recipe(const experiment::Resolved& experiment) {
  const experiment::TrainingSpec training = experiment.document.training;
  const experiment::OptimizerSpec optimizer = training.optimizer;
  run::Recipe recipe;
  recipe.clip_norm = training.clip_norm;
  recipe.stops_at_non_finite = training.non_finite == experiment::NonFinite::stop;
  recipe.skips_non_finite = training.non_finite == experiment::NonFinite::skip;
  recipe.seed = training.seed;
  recipe.loss_scaling = {training.loss_scale.initial, training.loss_scale.double_every_steps,
                         training.loss_scale.least};
  recipe.compression = experiment.document.strategy.compression;
  if (training.multiplies == experiment::Multiplies::bfloat16)
    recipe.multiplies = compute::Multiplies::bfloat16;
  if (training.multiplies == experiment::Multiplies::tf32)
    recipe.multiplies = compute::Multiplies::tf32;
  recipe.learning_rate = [training, steps = experiment.steps](std::int64_t step) {
    return experiment::learning_rate(training, step, steps);
  };
  recipe.update = [optimizer](const compute::UpdateInputs& common, Moments moments,
                              const Tensor& step) {
    return optimizer.kind == experiment::OptimizerKind::sgd
               ? sgd(optimizer, common, moments)
               : adam(optimizer, common, moments, step);
  };
  return recipe;
}

bool initializes(const plan::RankPlan& rank) {
  const plan::BufferId parameters = rank.buffer("params");
  const auto is_given = [&](const plan::Wanted& wanted) {
    return wanted.kind == plan::OpKind::broadcast && wanted.root != rank.rank &&
           wanted.span.buffer == parameters;
  };
  // If an engine runs the broadcast, the broadcast is a single op that receives the parameters, and
  // has no entry in `wanted`.
  const auto gives = [&](const plan::Op& op) {
    return op.kind == plan::OpKind::broadcast && op.peer != rank.rank &&
           op.writes.front().buffer == parameters;
  };
  return std::none_of(
      rank.programs.begin(), rank.programs.end(), [&](const plan::Program& program) {
        return std::any_of(program.wanted.begin(), program.wanted.end(), is_given) ||
               std::any_of(program.ops.begin(), program.ops.end(), gives);
      });
}

namespace {

// Initializes the parameters of the full model in temporary memory, and copies the server's share.
void initialize_share(const experiment::Resolved& e, int server, compute::Compute* device,
                      const Tensor& share) {
  const std::int64_t width = base::size_of(share.dtype);
  std::vector<std::byte> all(static_cast<std::size_t>(e.model.elements * width));
  model::initialize(e.model, e.document.training.seed,
                    {share.dtype, {e.model.elements}, all.data()});
  std::byte* to = share.data;
  for (const experiment::Share& part : experiment::shares_of_servers(e)) {
    if (part.server != server) continue;
    compute::host_copy(device, to, all.data() + part.first * width, part.count * width);
    to += part.count * width;
  }
}

// Initializes the parameters of the full model in temporary memory, and copies the rank's shards,
// one after another.
void initialize_part(const experiment::Resolved& e, int rank, const run::BoundPlan& bound) {
  const std::int64_t width = base::size_of(bound.parameters.dtype);
  std::vector<std::byte> all(static_cast<std::size_t>(e.model.elements * width));
  compute::fill(bound.device, bound.state, [&](const Tensor& state) {
    model::initialize(e.model, e.document.training.seed,
                      {bound.parameters.dtype, {e.model.elements}, all.data()}, state);
  });
  std::byte* to = bound.parameters.data;
  for (const experiment::ElementRange& part : experiment::shards_of_rank(e, rank)) {
    compute::host_copy(bound.device, to, all.data() + part.first * width, part.count * width);
    to += part.count * width;
  }
}

base::Result<std::shared_ptr<const data::Dataset>> opened(const experiment::Resolved& e) {
  return data::open(e.document.data, "").map_error([&](const base::Problem& problem) {
    return data::at_field(problem, e.document.data, "");
  });
}

}  // namespace

run::ServerParts server_parts(const experiment::Resolved& e, const plan::Plan& plan,
                              const run::InterpreterParts& parts) {
  return {.plan = parts.plan,
          .groups = &plan.groups,
          .evaluate_every_steps = plan.schedule.evaluate_every_steps,
          .chief_evaluates = experiment::has_local_statistics(e.model),
          .bound = parts.bound,
          .recipe = parts.recipe,
          .divides_by_staleness =
              e.document.strategy.servers.staleness_rate == experiment::StalenessRate::divided,
          .compute = parts.compute,
          .transport = parts.transport,
          .generation = parts.generation,
          .events = parts.events,
          .record_ops = parts.record_ops,
          .is_own_process = parts.is_own_process,
          .gate = parts.gate,
          .rank_progress = parts.rank_progress,
          .slowness = parts.slowness,
          .number = parts.plan->rank - e.workers(),
          .order = parts.order,
          .first_step = e.first_step,
          .first_version = e.first_version,
          .save_every_steps = e.document.run.checkpoint_every_steps,
          .delay_compensation = e.document.strategy.servers.delay_compensation,
          .average = run::UpdateAverage(plan, *parts.plan->rule, e.servers)};
}

base::Result<run::RowCount> row_counts(const experiment::Resolved& e, const plan::Plan& plan) {
  if (!run::names_rows(plan)) return run::RowCount{};
  auto dataset = opened(e);
  if (!dataset) return base::fail(dataset.error());
  const auto sampler = experiment::sampler(e);
  if (!sampler) return base::fail(sampler.error());
  return run::row_counts(plan, e.model, std::move(*dataset), *sampler);
}

base::Result<run::ServedTrainingParts> served_training_parts(const experiment::Resolved& e,
                                                             const plan::Plan& plan,
                                                             const run::Recipe& recipe,
                                                             compute::Compute& compute) {
  auto dataset = opened(e);
  if (!dataset) return base::fail(dataset.error());
  auto sampler = experiment::sampler(e);
  if (!sampler) return base::fail(sampler.error());
  return run::ServedTrainingParts{
      .plan = &plan,
      .model = &e.model,
      .recipe = &recipe,
      .divides_by_staleness =
          e.document.strategy.servers.staleness_rate == experiment::StalenessRate::divided,
      .delay_compensation = e.document.strategy.servers.delay_compensation,
      .compute = &compute,
      .dataset = std::move(*dataset),
      .sampler = std::move(*sampler),
      .held_out = [&e](int worker) { return e.held_out(worker); },
      .initialize = [&e](const plan::RankPlan& rank,
                         const run::BoundPlan& bound) { initialize(e, rank, bound); },
      .offload_directory = e.document.training.swap.directory};
}

base::Result<run::GossipReplayParts> gossip_replay_parts(const experiment::Resolved& e,
                                                         const plan::Plan& plan,
                                                         const run::Recipe& recipe) {
  auto dataset = opened(e);
  if (!dataset) return base::fail(dataset.error());
  auto sampler = experiment::sampler(e);
  if (!sampler) return base::fail(sampler.error());
  return run::GossipReplayParts{
      .plan = &plan,
      .model = &e.model,
      .recipe = &recipe,
      .computes = {},
      .transports = {},
      .dataset = std::move(*dataset),
      .sampler = std::move(*sampler),
      .share = [&e](int rank) { return experiment::share_of(e, rank); },
      .held_out = [&e](int rank) { return e.held_out(rank); },
      .initialize = [&e](const plan::RankPlan& rank,
                         const run::BoundPlan& bound) { initialize(e, rank, bound); },
      .first_step = e.first_step,
      .offload_directory = e.document.training.swap.directory};
}

void initialize(const experiment::Resolved& e, const plan::RankPlan& rank,
                const run::BoundPlan& bound) {
  if (experiment::shards_parameters(e)) return initialize_part(e, rank.rank, bound);
  if (!bound.versions.empty())
    return initialize_share(e, rank.rank - e.workers(), bound.device, bound.versions.front());
  compute::fill(bound.device, initializes(rank) ? bound.parameters : Tensor{},
                [&](const Tensor& parameters) {
                  compute::fill(bound.device, bound.state, [&](const Tensor& state) {
                    model::initialize(e.model, e.document.training.seed, parameters, state);
                  });
                });
}

}  // namespace trainyard::session
