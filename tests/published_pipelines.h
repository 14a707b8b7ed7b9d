// SPDX-License-Identifier: GPL-3.0-or-later
// Simulation of pipelines with published throughput. Unknown constants of the machines are fitted
// at one number of devices; the other figures are predictions. Sources: Huang et al. 2019, GPipe,
// tables 2 and 3; the benchmarks of torchgpipe (Kim et al. 2020).
//
// Taken from these sources: models, numbers of micro-batches, and for torchgpipe the samples and
// the layers of each device. Otherwise layers are partitioned by cost, as in an experiment. Except
// for the fitted constants, devices have the peak speed and memory bandwidth of their data sheets.
// A batch normalization therefore takes as long as its bytes, a convolution as long as its
// products, and stages differ as their layers do. Outputs are recomputed in the backward pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/experiment/resolve.h"
#include "core/sim/simulator.h"
#include "core/strategy/strategy.h"
#include "tests/drawings.h"

namespace trainyard::tests {

struct Machine {
  double flops = 0;                     // flop/s of a device
  double memory_bytes_per_second = 0;   // likewise
  double link_bits_per_second = 100e9;  // per direction, between a device and the others
};

// A sample: its shape, and among how many classes the loss chooses.
struct Pipelined {
  model::ModelSpec model;
  data::DataSummary data;
  std::int64_t samples = 1;                         // of a micro-batch
  std::vector<experiment::StagePlace> places = {};  // none: shared out by cost
};

inline data::DataSummary images(std::int64_t side) { return {{side, side, 3}, 1000, 1, 0, 1}; }
inline data::DataSummary sentences(std::int64_t words) { return {{words}, 32'000, 1, 0, words}; }

// As wide as Transformer-L of GPipe: 2048 numbers a word, 8192 units, 32 heads; words of 32,000.
inline model::ModelSpec transformer(std::int64_t blocks) {
  using model::LayerKind;
  return {{{.kind = LayerKind::embedding, .rows = 0, .width = 2048},
           {.kind = LayerKind::transformer, .heads = 32, .blocks = blocks, .hidden = 8192},
           {LayerKind::layer_norm, 0},
           {LayerKind::linear, 0}}};
}

// Layers of an image model, one after another.
class ImageLayers {
 public:
  std::int64_t size() const { return static_cast<std::int64_t>(spec_.layers.size()); }

  void convolution(std::int64_t channels, std::int64_t kernel, std::int64_t stride,
                   bool activates) {
    spec_.layers.push_back({.kind = model::LayerKind::conv2d,
                            .channels = channels,
                            .kernel = kernel,
                            .stride = stride,
                            .padding = kernel / 2});
    spec_.layers.push_back({model::LayerKind::batch_norm, 0});
    if (activates) relu();
  }
  void relu() { spec_.layers.push_back({model::LayerKind::relu, 0}); }
  void add_output_of(std::int64_t layer) {
    spec_.layers.push_back({.kind = model::LayerKind::add, .back = size() - layer});
  }
  void pool() {
    spec_.layers.push_back(
        {.kind = model::LayerKind::max_pool, .kernel = 3, .stride = 2, .padding = 1});
  }

  model::ModelSpec classified(std::int64_t side) && {
    spec_.layers.push_back({.kind = model::LayerKind::average_pool, .kernel = side});
    spec_.layers.push_back({model::LayerKind::flatten, 0});
    spec_.layers.push_back({model::LayerKind::linear, 0});
    return std::move(spec_);
  }

 private:
  model::ModelSpec spec_{{}};
};

// Stands for AmoebaNet-D (18, filters): a stem, two cells that halve the image, and three times six
// cells, between which two more halve it. Channels and sizes of images are those of the model, and
// so, in a cell, are the products of its convolutions, nearly: 13.75 c c a pixel, of c channels (20
// where it halves), here in a row, without the branches and their pools.
inline model::ModelSpec amoebanet(std::int64_t filters) {
  ImageLayers layers;
  std::int64_t c = filters / 4;
  layers.convolution(c, 3, 2, true);
  const auto halve = [&] {
    c *= 2;
    layers.convolution(c, 1, 1, true);
    layers.convolution(c, 3, 2, true);
    layers.convolution(3 * c, 1, 1, true);
  };
  const auto cell = [&](bool first) {
    const std::int64_t in = layers.size() - 1;
    layers.convolution(c, 1, 1, true);
    layers.convolution(3 * c / 4, 3, 1, true);
    layers.convolution(4 * c, 1, 1, first);
    if (first) return;
    layers.add_output_of(in);
    layers.relu();
  };
  halve();
  for (int third = 0; third < 3; ++third) {
    halve();
    for (int i = 0; i < 6; ++i) cell(i == 0);
  }
  return std::move(layers).classified(7);
}

// ResNet-101 (He et al. 2016). The convolution on the way around the first block of a stage stands
// before the block, for here layers are in a row; so that block's first convolution takes its
// output. Of each of torchgpipe's 370 layers, the first here that is of it or comes after it.
struct Resnet {
  model::ModelSpec model;
  std::vector<std::int64_t> first;

  // Places of torchgpipe's layers, given the number of layers per device.
  std::vector<experiment::StagePlace> places(const std::vector<int>& balance) const {
    std::vector<experiment::StagePlace> places;
    std::size_t layer = 0;
    for (const int count : balance) {
      places.push_back({std::to_string(first[layer]), static_cast<std::int64_t>(places.size())});
      layer += static_cast<std::size_t>(count);
    }
    return places;
  }
};

inline Resnet resnet101() {
  ImageLayers layers;
  Resnet made;
  const auto theirs = [&](std::initializer_list<std::int64_t> from_here) {
    for (const std::int64_t layer : from_here) made.first.push_back(layers.size() + layer);
  };
  theirs({0, 1, 3, 3}), layers.convolution(64, 7, 2, true), layers.pool();
  const std::int64_t blocks[] = {3, 4, 23, 3};
  for (std::int64_t stage = 0, c = 64; stage < 4; ++stage, c *= 2)
    for (std::int64_t block = 0; block < blocks[stage]; ++block) {
      theirs({0});
      if (block == 0) layers.convolution(4 * c, 1, stage == 0 ? 1 : 2, false);
      const std::int64_t in = layers.size() - 1;
      theirs({0, 1, 3}), layers.convolution(c, 1, 1, true);
      theirs({0, 1, 3}), layers.convolution(c, 3, 1, true);
      theirs({0, 1}), layers.convolution(4 * c, 1, 1, false);
      theirs({0, 2}), layers.add_output_of(in), layers.relu();
    }
  theirs({0, 2, 2});
  made.model = std::move(layers).classified(7);
  return made;
}

// The forward pass of a stage once more, before the backward pass of the same micro-batch. It waits
// for no gradient.
class WithRecomputation {
 public:
  explicit WithRecomputation(plan::LaneId compute) : compute_(compute) {}

  std::vector<plan::Op> of(const std::vector<plan::Op>& ops) && {
    for (const plan::Op& op : ops) {
      if (op.kind == plan::OpKind::forward) keep(op);
      if (op.kind == plan::OpKind::loss || op.kind == plan::OpKind::backward_input ||
          op.kind == plan::OpKind::backward_weight)
        make_again(op.micro);
      add(op);
    }
    for (plan::Op& op : ops_)
      for (plan::Dependency& dependency : op.after)
        if (dependency.lane == compute_ && dependency.sequence > 0)
          dependency.sequence = moved_[static_cast<std::size_t>(dependency.sequence)];
    return std::move(ops_);
  }

 private:
  void keep(const plan::Op& op) {
    plan::Op& again = forward_[op.micro].emplace_back(op);
    again.kind = plan::OpKind::recompute;
    again.after.clear();
  }
  void make_again(std::int32_t micro) {
    for (plan::Op& op : forward_[micro]) ops_.push_back(std::move(op)), ++computed_;
    forward_[micro].clear();
  }
  void add(const plan::Op& op) {
    ops_.push_back(op);
    if (op.lane == compute_) moved_.push_back(++computed_);
  }

  plan::LaneId compute_;
  std::vector<plan::Op> ops_;
  std::map<std::int32_t, std::vector<plan::Op>> forward_;  // by micro-batch
  std::vector<std::int32_t> moved_{
      0};  // by how many ops of the compute lane there were: how many there are
  std::int32_t computed_ = 0;
};

inline plan::Plan with_recomputation(const plan::Plan& plan) {
  plan::Plan changed = plan;
  changed.rank_plan = [made = plan.rank_plan](std::int32_t rank) {
    plan::RankPlan ranked = made(rank);
    for (plan::Program& program : ranked.programs)
      program.ops = WithRecomputation(plan::LaneId(1)).of(program.ops);
    return ranked;
  };
  return changed;
}

inline topology::Topology drawn(const Machine& machine, int devices) {
  topology::Topology drawing;
  drawing.hosts = {drawn_host("host", devices)};
  drawing.hosts[0].bus_bandwidth_bits_per_second = machine.link_bits_per_second;
  drawing.hosts[0].bus_latency_seconds = 0;
  for (topology::Device& device : drawing.hosts[0].devices) {
    device.peak_flops = machine.flops;
    device.memory_bandwidth_bytes_per_second = machine.memory_bytes_per_second;
  }
  return drawing;
}

inline experiment::Resolved resolved(const Pipelined& of, const Machine& machine, int devices,
                                     int micro_batches) {
  experiment::Experiment e;
  e.topology = drawn(machine, devices);
  e.model = of.model;
  if (of.data.sequences()) e.data.kind = data::DataKind::grammar;
  e.strategy.kind =
      devices == 1 ? experiment::StrategyKind::one_device : experiment::StrategyKind::pipeline;
  e.strategy.stages.schedule = experiment::PipelineSchedule::gpipe;
  if (!of.places.empty())
    e.strategy.stages.partition = experiment::Partition::by_hand,
    e.strategy.stages.places = of.places;
  e.training.batch_per_rank = of.samples;
  e.training.accumulation_steps = micro_batches;
  const base::Json data{{"sample_shape", of.data.sample_shape},
                        {"classes", of.data.classes},
                        {"train_samples", of.samples * micro_batches},
                        {"held_out_samples", 0},
                        {"labels_of_sample", of.data.labels_of_sample}};
  return experiment::resolved_from_json({{"document", experiment::to_json(e)}, {"data", data}})
      .value();
}

enum class Outputs { kept, made_again };

inline double step_seconds(const Pipelined& of, const Machine& machine, int devices,
                           int micro_batches, Outputs outputs = Outputs::made_again) {
  const experiment::Resolved r = resolved(of, machine, devices, micro_batches);
  const plan::Plan kept = strategy::make_plan(r).value();
  sim::Options options;
  options.steps = 1;
  options.launch_seconds = 0;
  options.lanes_per_thread = sim::LanesPerThread::one;
  return sim::simulate(outputs == Outputs::kept ? kept : with_recomputation(kept),
                       topology::Network(r.document.topology), options)
      .value()
      .first_step_seconds;
}

// Samples a second.
inline double throughput(const Pipelined& of, const Machine& machine, int devices,
                         int micro_batches, Outputs outputs = Outputs::made_again) {
  return static_cast<double>(of.samples * micro_batches) /
         step_seconds(of, machine, devices, micro_batches, outputs);
}

// Throughput with many micro-batches, extrapolated: once a pipeline is full, each further
// micro-batch takes as long as the previous one.
inline double long_throughput(const Pipelined& of, const Machine& machine, int devices,
                              int micro_batches) {
  constexpr int kFew = 32, kMore = 64;
  const double few = step_seconds(of, machine, devices, kFew),
               more = step_seconds(of, machine, devices, kMore);
  return static_cast<double>(of.samples * micro_batches) /
         (more + (micro_batches - kMore) * (more - few) / (kMore - kFew));
}

struct Point {
  int devices = 1;
  double published = 0;  // relative throughput
  std::function<double(const Machine&)> simulated;
  std::string model = {};  // where the figure is of several
};

struct Figure {
  std::string name, inputs;
  Machine machine;
  double Machine::*free;  // what is not known
  std::string free_name;
  double lowest = 0, highest = 0, fitted = 0;  // by which the point `fit` comes out
  std::size_t fit = 0;
  std::vector<Point> points;
  double most_error = 0;  // of the other points, relative to what is published

  double error(std::size_t point, const Machine& of) const {
    return points[point].simulated(of) / points[point].published - 1;
  }
  Machine with(double value) const {
    Machine fixed = machine;
    fixed.*free = value;
    return fixed;
  }
};

// Between the bounds, at which the figure is too low or too high.
inline double fit(const Figure& figure) {
  double low = figure.lowest, high = figure.highest;
  const bool grows = figure.error(figure.fit, figure.with(high)) > 0;
  for (int i = 0; i < 14; ++i) {
    const double half = std::sqrt(low * high);
    const bool too_much = figure.error(figure.fit, figure.with(half)) > 0;
    (too_much == grows ? high : low) = half;
  }
  return std::sqrt(low * high);
}

inline constexpr int kMicroBatches = 32;  // GPipe, tables 2 and 3
inline constexpr Machine kTpu{61.5e12, 450e9}, kP100{9.3e12, 732e9}, kP40{11.76e12, 346e9};

// Speed relative to `micro_batches_of_base` micro-batches on two devices.
inline Point relative(const Pipelined& of, int devices, double published, const Pipelined& base,
                      int micro_batches_of_base) {
  return {devices, published, [=](const Machine& machine) {
            return throughput(of, machine, devices, kMicroBatches) /
                   throughput(base, machine, 2, micro_batches_of_base);
          }};
}

inline Figure gpipe_table_2() {
  const Pipelined of{transformer(48), sentences(1024), 4};
  return {"GPipe table 2, Transformer-48",
          "TPUs of 61.5 Tflop/s, links of 100 Gbit/s; micro-batches of 4 sentences of 1024 words, "
          "32 a step; relative to one a step, on two devices",
          kTpu,
          &Machine::memory_bytes_per_second,
          "memory, B/s",
          1e11,
          2e12,
          350e9,
          0,
          {relative(of, 2, 1.8, of, 1), relative(of, 4, 3.4, of, 1), relative(of, 8, 6.3, of, 1)},
          0.02};
}

inline Figure gpipe_table_3(const std::string& model, const Pipelined& of, double published_4,
                            double published_8, double fitted, double most_error) {
  return {"GPipe table 3, " + model,
          "P100s of 9.3 Tflop/s and 732 GB/s; samples of a micro-batch: " +
              std::to_string(of.samples) + ", 32 micro-batches; relative to two devices",
          kP100,
          &Machine::link_bits_per_second,
          "link, bit/s",
          1e9,
          1e12,
          fitted,
          1,
          {relative(of, 4, published_4, of, kMicroBatches),
           relative(of, 8, published_8, of, kMicroBatches)},
          most_error};
}

inline Figure torchgpipe_resnet101() {
  const Resnet net = resnet101();
  const auto point = [&](int devices, double published, std::int64_t samples, int micro_batches,
                         const std::vector<int>& balance) {
    const Pipelined of{net.model, images(224), samples, net.places(balance)},
        alone{net.model, images(224), 118};
    return Point{devices, published, [=](const Machine& machine) {
                   const double one = throughput(alone, machine, 1, 1, Outputs::kept);
                   return (devices == 1 ? throughput(of, machine, 1, micro_batches)
                                        : long_throughput(of, machine, devices, micro_batches)) /
                          one;
                 }};
  };
  return {"torchgpipe, ResNet-101",
          "P40s of 11.76 Tflop/s and 346 GB/s; 2, 1667, 256 and 150 micro-batches of 110, 15, 22 "
          "and 36 images, layers shared out as published; relative to one "
          "device without pipeline, 118 images",
          kP40,
          &Machine::link_bits_per_second,
          "link, bit/s",
          1e9,
          1e12,
          26.7e9,
          3,
          {point(1, 0.736, 110, 2, {370}), point(2, 1.350, 15, 1667, {135, 235}),
           point(4, 2.291, 22, 256, {44, 92, 124, 110}),
           point(8, 3.114, 36, 150, {26, 22, 33, 44, 44, 66, 66, 69})},
          0.17};
}

inline std::vector<Figure> figures() {
  return {gpipe_table_2(),
          gpipe_table_3("Transformer-24", {transformer(24), sentences(1024), 1}, 1.8, 3.3, 12.2e9,
                        0.06),
          gpipe_table_3("AmoebaNet-D (18, 128)", {amoebanet(128), images(224), 4}, 1.7, 2.7, 65e9,
                        0.09),
          torchgpipe_resnet101()};
}

}  // namespace trainyard::tests
