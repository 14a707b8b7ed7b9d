// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/strategy.h"

#include "core/experiment/engine.h"
#include "core/experiment/fields.h"
#include "core/experiment/precision.h"
#include "core/experiment/swap.h"
#include "core/plan/engine_lane.h"
#include "core/strategy/evaluated_state.h"
#include "core/strategy/mixed.h"
#include "core/strategy/swap.h"

namespace trainyard::strategy {
namespace {

base::Result<plan::Plan> as_computed(const experiment::Resolved& experiment) {
  switch (experiment.document.strategy.kind) {
    case experiment::StrategyKind::one_device: return one_device(experiment);
    case experiment::StrategyKind::mirrored: return mirrored(experiment);
    case experiment::StrategyKind::ddp: return ddp(experiment);
    case experiment::StrategyKind::multi_worker_mirrored: return multi_worker_mirrored(experiment);
    case experiment::StrategyKind::central_storage: return central_storage(experiment);
    case experiment::StrategyKind::data_parallel: return data_parallel(experiment);
    case experiment::StrategyKind::parameter_server: return parameter_server(experiment);
    case experiment::StrategyKind::gossip: return gossip(experiment);
    case experiment::StrategyKind::local_sgd: return local_sgd(experiment);
    case experiment::StrategyKind::tpu: return tpu(experiment);
    case experiment::StrategyKind::model_parallel: return model_parallel(experiment);
    case experiment::StrategyKind::pipeline: return pipeline(experiment);
    case experiment::StrategyKind::fsdp: return fsdp(experiment);
    case experiment::StrategyKind::tensor_parallel: return tensor_parallel(experiment);
    case experiment::StrategyKind::hybrid: return hybrid(experiment);
    case experiment::StrategyKind::rpc: return rpc(experiment);
  }
  return base::fail({"unknown_strategy", base::ProblemCode::bad_input, "strategy.kind",
                     "unknown strategy", "", ""});
}

}  // namespace

base::Result<plan::Plan> coarse_plan(const experiment::Resolved& experiment) {
  auto plan = as_computed(experiment);
  if (!plan) return plan;
  plan = with_evaluated_state(std::move(*plan), experiment);
  const experiment::TrainingSpec& training = experiment.document.training;
  if (experiment::is_mixed(training.precision))
    plan->rank_plan = [experiment, in_fp32 = std::move(plan->rank_plan)](std::int32_t rank) {
      return in_mixed_precision(in_fp32(rank), experiment);
    };
  if (experiment::offloads(training))
    plan->rank_plan = [made = std::move(plan->rank_plan),
                       offload = training.swap](std::int32_t number) {
      plan::RankPlan rank = made(number);
      add_offloading(rank, offload);
      return rank;
    };
  return plan;
}

base::Result<plan::Plan> make_plan(const experiment::Resolved& experiment) {
  if (const experiment::Engine engine = experiment::engine_of(experiment);
      engine != experiment::Engine::own)
    return coarse_plan(experiment).map([&](const plan::Plan& coarse) {
      return plan::assign_to_engine(coarse, std::string(base::name_of(engine)));
    });
  return coarse_plan(experiment).map([&](const plan::Plan& coarse) {
    return collective::expand(coarse, method(experiment));
  });
}

collective::Method method(const experiment::Resolved& experiment) {
  collective::Method method(experiment.document.strategy.algorithm);
  method.segment_bytes = experiment.document.strategy.segment_bytes;
  method.hosts = experiment.hosts;
  return method;
}

}  // namespace trainyard::strategy
