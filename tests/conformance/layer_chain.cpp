// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/conformance/layer_chain.h"

#include "core/experiment/resolve.h"
#include "core/strategy/strategy.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::tests {

experiment::Experiment chain(int ranks, int layers, std::int64_t width) {
  experiment::Experiment e = strategy::small(ranks);
  e.data.features = e.data.classes = width;
  e.model.layers.clear();
  for (int i = 0; i + 1 < layers; ++i)
    e.model.layers.insert(e.model.layers.end(),
                          {{model::LayerKind::linear, width}, {model::LayerKind::tanh, 0}});
  e.model.layers.push_back({model::LayerKind::linear, 0});
  e.training.batch_per_rank = 4;
  return e;
}

run::MemoryUse use_of(const experiment::Experiment& e, std::int32_t rank) {
  const plan::RankPlan plan =
      strategy::make_plan(experiment::resolve(e, ".").value()).value().rank_plan(rank);
  return run::memory_use(plan, run::layout(plan));
}

}  // namespace trainyard::tests
