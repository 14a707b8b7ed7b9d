// SPDX-License-Identifier: GPL-3.0-or-later
// Simulation of replicas with published scaling: Horovod (Sergeev and Del Balso 2018) on 128
// servers of four Pascal GPUs each, connected by 25 Gbit/s. Unknown constants of the network are
// fitted for one model; the other figures are predictions.
//
// As in the source, gradients are all-reduced by a ring during the backward pass, in buckets of at
// least 64 MiB. Our choice: 64 images per GPU. VGG-16 and ResNet-101 are drawn exactly.
// Inception-V3 is a sequence of modules, each with as many weights as all branches of the published
// one, and as many output channels; on nearly the same image size, its products are nearly the
// same.
#pragma once

#include "tests/published_pipelines.h"

namespace trainyard::tests {

// Simonyan and Zisserman 2015, configuration D.
inline model::ModelSpec vgg16() {
  using model::LayerKind;
  model::ModelSpec spec{{}};
  for (const auto& [channels, layers] :
       {std::pair<std::int64_t, int>{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    for (int i = 0; i < layers; ++i) {
      spec.layers.push_back(
          {.kind = LayerKind::conv2d, .channels = channels, .kernel = 3, .padding = 1});
      spec.layers.push_back({LayerKind::relu, 0});
    }
    spec.layers.push_back({.kind = LayerKind::max_pool, .kernel = 2, .stride = 2});
  }
  spec.layers.push_back({LayerKind::flatten, 0});
  for (const std::int64_t units : {4096, 4096})
    spec.layers.insert(spec.layers.end(), {{LayerKind::linear, units}, {LayerKind::relu, 0}});
  spec.layers.push_back({LayerKind::linear, 0});
  return spec;
}

// Szegedy et al. 2016.
inline model::ModelSpec inception_v3() {
  ImageLayers layers;
  std::int64_t channels = 192;
  layers.convolution(32, 3, 2, true);
  layers.convolution(32, 3, 1, true);
  layers.convolution(64, 3, 1, true);
  layers.pool();
  layers.convolution(80, 1, 1, true);
  layers.convolution(channels, 3, 1, true);
  layers.pool();
  // Three convolutions whose weights, in a, 9 a a and a out, are as many as asked for.
  const auto module = [&](double weights, std::int64_t out, std::int64_t stride = 1) {
    const auto ends = static_cast<double>(channels + out);
    const auto a = std::llround((std::sqrt(ends * ends + 36 * weights) - ends) / 18);
    layers.convolution(a, 1, 1, true);
    layers.convolution(a, 3, stride, true);
    layers.convolution(out, 1, 1, true);
    channels = out;
  };
  module(254'976, 256), module(276'480, 288), module(284'160, 288);
  module(1'152'000, 768, 2);
  module(1'294'336, 768), module(1'687'552, 768), module(1'687'552, 768), module(2'138'112, 768);
  module(1'695'744, 1280, 2);
  module(5'038'080, 2048), module(6'070'272, 2048);
  return std::move(layers).classified(9);
}

struct Replicated {
  model::ModelSpec model;
  std::int64_t side = 224;    // of an image
  std::int64_t samples = 64;  // of a GPU
};

inline constexpr double kLatency =
    1e-6;  // of a bus, and between a server and the switch: remote direct memory access

inline topology::Topology servers(const Machine& machine, int count, int devices) {
  topology::Topology drawing = drawn_hosts(count, devices);
  for (topology::Host& host : drawing.hosts) {
    host.bus_bandwidth_bits_per_second = 128e9;  // PCIe 3.0 x16
    host.bus_latency_seconds = kLatency;
    for (topology::Device& device : host.devices) {
      device.kind = topology::DeviceKind::gpu;
      device.peak_flops = machine.flops;
      device.memory_bandwidth_bytes_per_second = machine.memory_bytes_per_second;
    }
  }
  for (topology::Link& link : drawing.links)
    link.bandwidth_bits_per_second = machine.link_bits_per_second, link.latency_seconds = kLatency;
  return drawing;
}

// Step time of replicas on `count` servers of four GPUs; 0: on one GPU alone.
inline double step_seconds(const Replicated& of, const Machine& machine, int count) {
  constexpr int kDevices = 4;
  experiment::Experiment e;
  e.topology = count > 0 ? servers(machine, count, kDevices) : servers(machine, 1, 1);
  e.model = of.model;
  e.strategy.kind = count > 0 ? experiment::StrategyKind::multi_worker_mirrored
                              : experiment::StrategyKind::one_device;
  e.strategy.bucket_bytes = 64 << 20;
  e.training.batch_per_rank = of.samples;
  const base::Json data{{"sample_shape", {of.side, of.side, 3}},
                        {"classes", 1000},
                        {"train_samples", of.samples * std::max(1, count * kDevices)},
                        {"held_out_samples", 0},
                        {"labels_of_sample", 1}};
  experiment::Resolved r =
      experiment::resolved_from_json({{"document", experiment::to_json(e)}, {"data", data}})
          .value();
  r.document.strategy.engine =
      experiment::Engine::gloo;  // whichever takes a bucket whole, in a ring
  sim::Options options;
  options.steps = 1;
  options.lanes_per_thread = sim::LanesPerThread::one;
  return sim::simulate(strategy::make_plan(r).value(), topology::Network(r.document.topology),
                       options)
      .value()
      .first_step_seconds;
}

inline Figure horovod_512() {
  const auto efficiency = [](const std::string& name, double published, const Replicated& of) {
    return Point{512, published,
                 [of](const Machine& machine) {
                   return step_seconds(of, machine, 0) / step_seconds(of, machine, 128);
                 },
                 name};
  };
  return {
      "Horovod, scaling efficiency on 512 GPUs",
      "P100s of 9.3 Tflop/s and 732 GB/s, four a server, 64 images each; buckets of 64 MiB, ring; "
      "relative to one GPU",
      kP100,
      &Machine::link_bits_per_second,
      "network of a server, bit/s",
      1e9,
      25e9,
      12.1e9,
      0,
      {efficiency("VGG-16", 0.68, {vgg16()}), efficiency("ResNet-101", 0.90, {resnet101().model}),
       efficiency("Inception-V3", 0.90, {inception_v3(), 280})},
      0.05};
}

}  // namespace trainyard::tests
