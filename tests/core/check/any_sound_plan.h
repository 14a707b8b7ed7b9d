// SPDX-License-Identifier: GPL-3.0-or-later
// Random plans that make sense: those of strategies for random experiments, and random graphs of
// ops. Call inside a property.
#pragma once

#include "tests/core/check/any_graph.h"
#include "tests/core/collective/one_bucket.h"

namespace trainyard::check {

inline collective::Algorithm any_algorithm() {
  return *rc::gen::elementOf(
      std::vector(std::begin(collective::kAlgorithms), std::end(collective::kAlgorithms)));
}

// Convolutions, a residual block and what lies between them, on drawn digits.
inline std::vector<model::LayerSpec> any_image_layers() {
  using model::LayerKind;
  const std::int64_t channels = *rc::gen::inRange<std::int64_t>(1, 5);
  const model::LayerSpec conv{.kind = LayerKind::conv2d, .channels = channels, .padding = 1},
      sum{.kind = LayerKind::add, .back = 3};
  std::vector<model::LayerSpec> layers;
  const auto maybe = [&](LayerKind kind) {
    if (any_bool()) layers.push_back({kind, 0});
  };
  maybe(LayerKind::dropout);
  maybe(LayerKind::max_pool);
  layers.push_back(conv);
  maybe(LayerKind::batch_norm);
  maybe(LayerKind::tanh);
  if (any_bool()) {
    layers.insert(layers.end(), {{LayerKind::dropout, 0}, conv, {LayerKind::batch_norm, 0}, sum});
    maybe(LayerKind::relu);
  }
  maybe(LayerKind::average_pool);
  maybe(LayerKind::dropout);
  maybe(LayerKind::flatten);
  return layers;
}

inline experiment::Experiment any_experiment(int ranks) {
  experiment::Experiment e = strategy::small(ranks);
  e.model.layers.clear();
  if (any_bool()) {
    e.data.kind = data::DataKind::digits;
    e.model.layers = any_image_layers();
  }
  for (int layer = *rc::gen::inRange(0, 5); layer > 0; --layer) {
    e.model.layers.push_back({model::LayerKind::linear, *rc::gen::inRange<std::int64_t>(1, 30)});
    if (any_bool())
      e.model.layers.push_back(
          {*rc::gen::element(model::LayerKind::relu, model::LayerKind::tanh), 0});
  }
  e.model.layers.push_back({model::LayerKind::linear, 0});
  e.training.batch_per_rank = *rc::gen::inRange<std::int64_t>(1, 20);
  e.training.accumulation_steps = any_bool() ? 1 : *rc::gen::inRange<std::int64_t>(1, 5);
  e.data.train_samples =
      *rc::gen::inRange<std::int64_t>(ranks * e.training.samples_per_rank(), 800);
  if (plan::any_count(4) == 0) e.strategy.average = experiment::AveragedQuantity::weights;
  e.data.held_out_samples = *rc::gen::inRange<std::int64_t>(0, 60);
  e.strategy.bucket_bytes = *rc::gen::inRange<std::int64_t>(1, 8000);
  e.strategy.algorithm = any_algorithm();
  e.training.precision =
      *rc::gen::element(experiment::Precision::fp32, experiment::Precision::fp64);
  e.training.optimizer.kind =
      *rc::gen::element(experiment::OptimizerKind::sgd, experiment::OptimizerKind::adam,
                        experiment::OptimizerKind::adamw);
  e.training.clip_norm = *rc::gen::element(0.0, 1.0);
  if (e.strategy.average == experiment::AveragedQuantity::gradients && any_bool())
    e = strategy::synchronized(e);
  using enum data::ShardingKind;
  e.data.sharding.kind = *rc::gen::element(iid, label_skew, size_skew, vertical);
  if (!experiment::resolve(e, "."))
    e.data.sharding = {};  // a rank would own nothing, or the first layer is no sum over columns
  return e;
}

// Coarse, of two to five ranks.
inline Victim any_victim() {
  const int ranks = 2 + plan::any_count(3);
  if (any_bool()) return Victim(any_graph(ranks, Programs::all));
  return Victim(strategy::coarse_plan(strategy::resolved(any_experiment(ranks))).value());
}

}  // namespace trainyard::check
