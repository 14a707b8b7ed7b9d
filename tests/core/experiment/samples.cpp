// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/experiment/samples.h"

#include <rapidcheck.h>

#include <string>

namespace trainyard::experiment {
namespace {

std::string any_text(std::size_t longest, char first) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(first, 127));
  return text.substr(0, longest);
}

double any_number(double low, double high) {
  return low +
         (high - low) * static_cast<double>(*rc::gen::inRange<std::int64_t>(0, 1'000'001)) / 1e6;
}

void vary_topology(topology::Topology& topology) {
  for (topology::Host& host : topology.hosts) {
    host.x = any_number(-1e6, 1e6);
    host.bus_latency_seconds = any_number(0, 10);
    for (topology::Device& device : host.devices) {
      device.kind = *rc::gen::element(topology::DeviceKind::cpu, topology::DeviceKind::gpu,
                                      topology::DeviceKind::tpu);
      device.role =
          *rc::gen::element(topology::Role::worker, topology::Role::worker, topology::Role::idle);
      device.cores = *rc::gen::inRange<std::int64_t>(1, 4097);
      device.peak_flops = any_number(1e3, 1e18);
    }
  }
  topology.hosts[0].devices[0].role = topology::Role::worker;
}

model::ModelSpec any_model(bool synchronized) {
  model::ModelSpec spec{{}};
  for (int layer = *rc::gen::inRange(0, 4); layer > 0; --layer) {
    spec.layers.push_back({model::LayerKind::linear, *rc::gen::inRange<std::int64_t>(1, 2000)});
    spec.layers.push_back(
        {*rc::gen::element(model::LayerKind::relu, model::LayerKind::tanh, model::LayerKind::gelu),
         0});
    if (*rc::gen::arbitrary<bool>())
      spec.layers.push_back(
          {*rc::gen::element(model::LayerKind::layer_norm, model::LayerKind::rms_norm), 0});
  }
  if (*rc::gen::arbitrary<bool>())
    spec.layers.push_back({.kind = model::LayerKind::batch_norm, .synchronized = synchronized});
  spec.layers.push_back({model::LayerKind::linear, 0});
  return spec;
}

TrainingSpec any_training(std::int64_t most_per_rank) {
  TrainingSpec training;
  training.batch_per_rank = *rc::gen::inRange<std::int64_t>(1, most_per_rank + 1);
  training.accumulation_steps =
      *rc::gen::inRange<std::int64_t>(1, most_per_rank / training.batch_per_rank + 1);
  training.epochs = *rc::gen::inRange<std::int64_t>(1, 100);
  training.steps = *rc::gen::element<std::int64_t>(0, 0, 1, 77);
  training.seed = *rc::gen::inRange<std::int64_t>(0, 9'000'000'000'000'000);
  training.precision = *rc::gen::element(Precision::fp32, Precision::fp64);
  training.multiplies = *rc::gen::element(Multiplies::automatic, Multiplies::full,
                                          Multiplies::bfloat16, Multiplies::tf32);
  const bool rounds =
      training.multiplies == Multiplies::bfloat16 || training.multiplies == Multiplies::tf32;
  if (training.precision == Precision::fp64 && rounds) training.multiplies = Multiplies::full;
  training.optimizer.kind =
      *rc::gen::element(OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw);
  training.optimizer.learning_rate = any_number(0, 1e6);
  training.optimizer.beta2 = any_number(0, 0.9999999);
  training.schedule.kind =
      *rc::gen::element(ScheduleKind::constant, ScheduleKind::step, ScheduleKind::cosine);
  training.schedule.warmup_steps = *rc::gen::inRange<std::int64_t>(0, 100);
  training.clip_norm = any_number(0, 1e12);
  return training;
}

CompressionSpec any_compression() {
  using compute::compression::Scheme;
  return {*rc::gen::element(Scheme::none, Scheme::fp16, Scheme::bf16, Scheme::int8, Scheme::sign,
                            Scheme::top_k, Scheme::random_k, Scheme::power_sgd),
          any_number(1e-6, 1), *rc::gen::inRange<std::int64_t>(1, 257),
          *rc::gen::arbitrary<bool>()};
}

// Adds an embedding that fits the data.
void look_up_indices(Experiment& experiment) {
  data::DataSpec& data = experiment.data;
  data.slot_count = *rc::gen::inRange<std::int64_t>(1, 30);
  data.vocabulary = *rc::gen::inRange<std::int64_t>(data.slot_count, 30'000);
  data.zipf_exponent = any_number(0, 10);
  data.dense = *rc::gen::inRange<std::int64_t>(0, 100);
  const std::int64_t rows = data.vocabulary + *rc::gen::inRange<std::int64_t>(0, 100),
                     width = *rc::gen::inRange<std::int64_t>(1, 65);
  experiment.model.layers.insert(experiment.model.layers.begin(),
                                 {.kind = model::LayerKind::embedding_bag,
                                  .slot_count = data.slot_count,
                                  .rows = rows,
                                  .width = width});
}

}  // namespace

topology::Topology star(int hosts, int devices) {
  topology::Topology topology;
  topology.switches.push_back({"switch", 0, 0});
  for (int h = 0; h < hosts; ++h) {
    topology::Host host;
    host.name = "host" + std::to_string(h);
    for (int d = 0; d < devices; ++d) {
      topology::Device device;
      device.name = host.name + ".cpu" + std::to_string(d);
      host.devices.push_back(device);
    }
    topology.hosts.push_back(host);
    topology.links.push_back({host.name, "switch", 1e9, 1e-5});
  }
  return topology;
}

Experiment small(int hosts, int devices) {
  Experiment experiment;
  experiment.name = "small";
  experiment.topology = star(hosts, devices);
  return experiment;
}

Experiment any_experiment() {
  Experiment experiment = small(*rc::gen::inRange(1, 4), *rc::gen::inRange(1, 4));
  experiment.name = any_text(200, ' ');
  experiment.notes = any_text(1000, 1);
  vary_topology(experiment.topology);
  experiment.data.kind = *rc::gen::element(data::DataKind::digits, data::DataKind::spirals,
                                           data::DataKind::blobs, data::DataKind::clicks);
  experiment.data.train_samples = *rc::gen::inRange<std::int64_t>(9, 10'000);
  experiment.data.noise = any_number(0, 10);
  experiment.data.features = *rc::gen::inRange<std::int64_t>(1, 4097);
  experiment.strategy.algorithm =
      *rc::gen::element(collective::Algorithm::ring, collective::Algorithm::direct);
  experiment.strategy.bucket_bytes = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000);
  experiment.strategy.average =
      *rc::gen::element(AveragedQuantity::gradients, AveragedQuantity::weights);
  experiment.model = any_model(experiment.strategy.average == AveragedQuantity::gradients &&
                               *rc::gen::arbitrary<bool>());
  if (experiment.data.kind == data::DataKind::clicks) look_up_indices(experiment);
  experiment.data.sharding.kind = *rc::gen::element(
      data::ShardingKind::iid, data::ShardingKind::contiguous, data::ShardingKind::size_skew);
  experiment.data.sharding.size_ratio =
      any_number(1, 1.5);  // the smallest shard of 9 ranks and 9 samples has one sample
  experiment.training = any_training(experiment.data.train_samples / 9);
  if (experiment.training.precision == Precision::fp32 &&
      experiment.strategy.average == AveragedQuantity::gradients)
    experiment.strategy.compression = any_compression();
  experiment.run.transport = *rc::gen::element(TransportKind::automatic, TransportKind::inproc,
                                               TransportKind::shm, TransportKind::zmq);
  experiment.run.evaluate_every_steps = *rc::gen::element<std::int64_t>(0, 10);
  experiment.run.seconds_per_step = any_number(0, 3600);
  return experiment;
}

}  // namespace trainyard::experiment
