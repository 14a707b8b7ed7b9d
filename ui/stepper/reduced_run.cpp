// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/reduced_run.h"

#include "core/collective/expand.h"
#include "core/experiment/compression.h"
#include "core/experiment/duties.h"
#include "core/experiment/engine.h"
#include "core/experiment/fields.h"
#include "core/strategy/strategy.h"

namespace trainyard::ui {
namespace {

constexpr std::int32_t kGradients = 0;  // the group that sums them; that of batch normalisation comes after it

// A step of training reduces all that there is; shorter ones reduce the same.
std::vector<RunBucket> buckets_of(const plan::RankPlan& rank) {
  std::vector<RunBucket> buckets;
  const int train = rank.program("train");
  if (train < 0) return buckets;
  for (const plan::Op& op : rank.programs[static_cast<std::size_t>(train)].ops)
    if (collective::collective_of(op.kind) && op.group == kGradients)
      buckets.push_back({op.bucket, op.writes.front().count, rank.buffers[op.writes.front().buffer.index()].dtype});
  return buckets;
}

}  // namespace

base::Result<ReducedRun> reduced_run(const base::Json& resolved) {
  const auto experiment = experiment::resolved_from_json(resolved);
  if (!experiment) return base::fail(experiment.error());
  return strategy::coarse_plan(*experiment).map([&](const plan::Plan& plan) {
    const auto& strategy = experiment->document.strategy;
    const bool gathers = experiment::compresses(*experiment) && compute::compression::gathers(strategy.compression.kind);
    const experiment::Engine engine = experiment::engine_of(*experiment);
    const std::string other = engine == experiment::Engine::own ? "" : std::string(base::name_of(engine));
    return ReducedRun{experiment->hosts,
                      strategy.algorithm,
                      gathers ? collective::Collective::all_gather : collective::Collective::all_reduce,
                      other.empty() ? strategy.segment_bytes : 0,
                      other,
                      experiment::fixed_algorithm(strategy.kind) ? std::vector<RunBucket>() : buckets_of(plan.rank_plan(0))};
  });
}

}  // namespace trainyard::ui
