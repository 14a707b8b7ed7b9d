// SPDX-License-Identifier: GPL-3.0-or-later
// Experiments for tests of the model view.
#pragma once

#include "core/experiment/experiment.h"
#include "tests/drawings.h"
#include "ui/modelview/model_picture.h"

namespace trainyard::ui::test {

// Three linear layers on drawn digits, the first two with a relu: segments 0, 2 and 4.
inline experiment::Experiment three_layers(experiment::StrategyKind kind, int devices) {
  experiment::Experiment e;
  e.topology = tests::drawn_hosts(1, devices);
  e.strategy.kind = kind;
  e.model.layers = {{model::LayerKind::linear, 32},
                    {model::LayerKind::relu, 0},
                    {model::LayerKind::linear, 16},
                    {model::LayerKind::relu, 0},
                    {model::LayerKind::linear, 0}};
  e.training.batch_per_rank = 8;
  e.training.accumulation_steps = 4;
  return e;
}

// An embedding, a transformer with `blocks` blocks, and a linear layer, tied or not: segments 0,
// 1.0 and following, 2.
inline experiment::Experiment gpt(int devices, int blocks, bool tied) {
  experiment::Experiment e = three_layers(experiment::StrategyKind::model_parallel, devices);
  e.data.kind = data::DataKind::grammar;
  model::LayerSpec embedding{model::LayerKind::embedding},
      transformer{model::LayerKind::transformer}, head{model::LayerKind::linear};
  embedding.rows = 0, embedding.width = 16;
  transformer.blocks = blocks;
  head.tied = tied;
  e.model.layers = {embedding, transformer, head};
  return e;
}

// The same in two stages of a mesh with sharded replicas: layer 2 must be with the table of layer
// 0.
inline experiment::Experiment gpt_in_shards() {
  experiment::Experiment e = gpt(4, 1, true);
  e.strategy.kind = experiment::StrategyKind::hybrid;
  e.strategy.stages.schedule = experiment::PipelineSchedule::gpipe;
  e.strategy.mesh = {2, 2, 1, true};
  return e;
}

inline experiment::Experiment by_hand(experiment::Experiment e,
                                      std::vector<experiment::StagePlace> places) {
  e.strategy.stages.partition = experiment::Partition::by_hand;
  e.strategy.stages.places = std::move(places);
  return e;
}

// Returns the rank of the column of each node.
inline std::vector<int> ranks_of(const ModelPicture& picture) {
  std::vector<int> ranks;
  for (int n = 0; n < picture.count(); ++n) ranks.push_back(picture.column_of(n).rank);
  return ranks;
}

}  // namespace trainyard::ui::test
