// SPDX-License-Identifier: GPL-3.0-or-later
// Small resolved experiments for tests of plans.
#pragma once

#include "core/experiment/resolve.h"
#include "tests/drawings.h"

namespace trainyard::strategy {

// `ranks` devices of one host; 7 features, 5 classes, hidden layers of 6 and 4 units. 250 samples.
inline experiment::Experiment small(int ranks) {
  experiment::Experiment e;
  e.topology.hosts = {tests::drawn_host("host", ranks)};
  e.data.kind = data::DataKind::blobs;
  e.data.features = 7;
  e.data.classes = 5;
  e.data.train_samples = 250;
  e.data.held_out_samples = 53;
  e.model.layers = {{model::LayerKind::linear, 6},
                    {model::LayerKind::tanh, 0},
                    {model::LayerKind::linear, 4},
                    {model::LayerKind::relu, 0},
                    {model::LayerKind::linear, 0}};
  e.strategy.bucket_bytes = 150;
  e.training.batch_per_rank = 8;
  e.training.epochs = 2;
  return e;
}

// Through a residual block as transformers have them: a normalized row, linear, gelu, linear, added
// to what came in; and a root mean square before the end.
inline experiment::Experiment small_rows(int ranks) {
  using model::LayerKind;
  experiment::Experiment e = small(ranks);
  e.model.layers = {{LayerKind::linear, 6},   {LayerKind::layer_norm, 0},
                    {LayerKind::linear, 9},   {LayerKind::gelu, 0},
                    {LayerKind::linear, 6},   {.kind = LayerKind::add, .back = 5},
                    {LayerKind::rms_norm, 0}, {LayerKind::linear, 0}};
  return e;
}

// Sentences, 9 characters at a time, through a transformer of two heads: an embedding of 4 numbers,
// a block, and a normalized row before the end.
inline experiment::Experiment small_gpt(int ranks) {
  using model::LayerKind;
  experiment::Experiment e = small(ranks);
  e.data.kind = data::DataKind::grammar;
  e.data.context = 9;
  e.model.layers = {{.kind = LayerKind::embedding, .rows = 0, .width = 4},
                    {.kind = LayerKind::transformer, .heads = 2, .blocks = 1, .hidden = 5},
                    {LayerKind::layer_norm, 0},
                    {LayerKind::linear, 0}};
  return e;
}

// The same with the table of the embedding for the logits.
inline experiment::Experiment small_tied_gpt(int ranks) {
  experiment::Experiment e = small_gpt(ranks);
  e.model.layers.back().tied = true;
  return e;
}

// Drawn digits of 28 x 28 through a convolution, a residual block and dropout; no batch
// normalization.
inline experiment::Experiment small_images(int ranks) {
  using model::LayerKind;
  experiment::Experiment e = small(ranks);
  e.data.kind = data::DataKind::digits;
  e.model.layers = {{.kind = LayerKind::conv2d, .channels = 3, .kernel = 5, .stride = 3},
                    {LayerKind::relu, 0},
                    {.kind = LayerKind::conv2d, .channels = 3, .padding = 1},
                    {.kind = LayerKind::add, .back = 2},
                    {LayerKind::tanh, 0},
                    {.kind = LayerKind::max_pool, .kernel = 2},
                    {.kind = LayerKind::dropout, .probability = 0.25},
                    {LayerKind::flatten, 0},
                    {LayerKind::linear, 0}};
  return e;
}

// The same with a batch normalization after the convolution of the block.
inline experiment::Experiment small_normalized_images(int ranks) {
  experiment::Experiment e = small_images(ranks);
  e.model.layers.insert(e.model.layers.begin() + 3, {model::LayerKind::batch_norm, 0});
  e.model.layers[4].back = 3;
  return e;
}

// Its batch normalizations over the samples of all ranks.
inline experiment::Experiment synchronized(experiment::Experiment e) {
  for (model::LayerSpec& layer : e.model.layers)
    layer.synchronized = layer.kind == model::LayerKind::batch_norm;
  return e;
}

// A click log of 3 slots, 2 dense columns and 40 indices, through rows of 4 numbers and a hidden
// layer; the table has 2 rows that no index names.
inline experiment::Experiment small_clicks(int ranks) {
  using model::LayerKind;
  experiment::Experiment e = small(ranks);
  e.data.kind = data::DataKind::clicks;
  e.data.slot_count = 3, e.data.dense = 2, e.data.vocabulary = 40;
  e.model.layers = {{.kind = LayerKind::embedding_bag, .slot_count = 3, .rows = 42, .width = 4},
                    {LayerKind::linear, 6},
                    {LayerKind::relu, 0},
                    {LayerKind::linear, 0}};
  return e;
}

// The same with a wide half: a second table, of a row of logits for each index.
inline experiment::Experiment small_wide_and_deep(int ranks) {
  experiment::Experiment e = small_clicks(ranks);
  e.model.layers.push_back({.kind = model::LayerKind::wide, .slot_count = 3, .rows = 42});
  return e;
}

// Its layers on several devices, in micro-batches of three samples.
inline experiment::Experiment piped(experiment::Experiment e, experiment::PipelineSchedule schedule,
                                    int micro_batches = 4) {
  e.strategy.kind = experiment::StrategyKind::pipeline;
  e.strategy.stages.schedule = schedule;
  e.training.batch_per_rank = 3;
  e.training.accumulation_steps = micro_batches;
  return e;
}

inline experiment::Resolved resolved(const experiment::Experiment& e) {
  return experiment::resolve(e, ".").value();
}

}  // namespace trainyard::strategy
