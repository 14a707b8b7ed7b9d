// SPDX-License-Identifier: GPL-3.0-or-later
// Pipelines to draw and to run by hand: equal stages of one layer each.
#pragma once

#include <gtest/gtest.h>

#include "core/experiment/resolve.h"
#include "core/strategy/strategy.h"
#include "tests/drawings.h"
#include "ui/model/plan/pipeline_plan.h"

namespace trainyard::ui::test {

// One host with `ranks` devices on a bus that takes no time.
inline experiment::Experiment drawn_pipeline(experiment::PipelineSchedule schedule, int ranks,
                                             int micro_batches, int chunks = 1) {
  using model::LayerKind;
  experiment::Experiment e;
  e.topology = tests::drawn_hosts(1, ranks);
  topology::Host& host = e.topology.hosts[0];
  host.bus_bandwidth_bits_per_second = 1e15, host.bus_latency_seconds = 0;
  for (topology::Device& device : host.devices)
    device.peak_flops = 1e9, device.memory_bandwidth_bytes_per_second = 1e15;
  e.data.kind = data::DataKind::blobs;
  e.data.features = 6;
  e.data.classes = 6;
  e.data.train_samples = 10 * micro_batches;
  e.data.held_out_samples = 0;
  e.model.layers.clear();
  for (int s = 1; s < ranks * chunks; ++s)
    e.model.layers.insert(e.model.layers.end(), {{LayerKind::linear, 6}, {LayerKind::tanh, 0}});
  e.model.layers.push_back({LayerKind::linear, 0});
  e.strategy.kind = experiment::StrategyKind::pipeline;
  e.strategy.stages.schedule = schedule;
  e.strategy.stages.chunks = std::max(2, chunks);
  e.training.batch_per_rank = 1;
  e.training.accumulation_steps = micro_batches;
  e.training.epochs = 1;
  return e;
}

inline experiment::Resolved resolved(const experiment::Experiment& e) {
  auto made = experiment::resolve(e, "");
  EXPECT_TRUE(made) << base::to_string(made.error());
  return made.value();
}

inline PipelinePlan planned(const experiment::Resolved& e, const plan::Plan& plan) {
  const auto shape = pipeline_shape(e);
  EXPECT_TRUE(shape);
  auto made = pipeline_plan(e, *shape, plan);
  EXPECT_TRUE(made) << base::to_string(made.error());
  return made.value();
}
inline PipelinePlan planned(const experiment::Experiment& e) {
  const experiment::Resolved known = resolved(e);
  return planned(known, strategy::make_plan(known).value());
}

}  // namespace trainyard::ui::test
