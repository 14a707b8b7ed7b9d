// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/rank_duties.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/base/units.h"
#include "core/experiment/bipartition.h"
#include "core/experiment/fields.h"
#include "core/experiment/local_sgd.h"
#include "core/experiment/mixing_matrix.h"
#include "core/experiment/rpc.h"
#include "core/experiment/servers.h"
#include "core/experiment/tpu.h"
#include "core/topology/network.h"

namespace trainyard::experiment {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Problems;
using topology::Device;
using topology::DeviceKind;

// Worker devices by rank.
std::vector<const Device*> workers(const topology::Topology& topology) {
  std::vector<const Device*> list;
  for (const topology::Host& host : topology.hosts)
    for (const Device& device : host.devices)
      if (topology::works(device)) list.push_back(&device);
  return list;
}

bool is_cpu(const Device* device) { return device->kind == DeviceKind::cpu; }

Problem of_strategy(std::string what, std::string accepted, std::string advice) {
  return {"devices_do_not_fit", ProblemCode::bad_input, "strategy.kind",
          std::move(what),      std::move(accepted),    std::move(advice)};
}

std::optional<Problem> several_hosts(const topology::Topology& topology,
                                     const std::string& strategy, const std::string& instead) {
  const auto has_workers = [](const topology::Host& host) {
    return std::any_of(host.devices.begin(), host.devices.end(),
                       [](const Device& device) { return topology::works(device); });
  };
  const auto hosts = std::count_if(topology.hosts.begin(), topology.hosts.end(), has_workers);
  if (hosts < 2) return std::nullopt;
  return of_strategy(
      fmt::format("{} uses one host, but workers are on {}", strategy, base::format_count(hosts)),
      "all workers on one host",
      fmt::format("Set the role of workers on the other hosts to idle, or strategy.kind to {}.",
                  instead));
}

std::optional<Problem> no_storage(const topology::Topology& topology) {
  const auto all = workers(topology);
  const auto cpus = std::count_if(all.begin(), all.end(), is_cpu);
  if (cpus == 0)
    return of_strategy(
        "central_storage keeps the variables on a cpu of the host, but no worker is a cpu",
        "workers that are one cpu and one or more gpus or tpus",
        "Draw a cpu on the host, or change the kind of one device to cpu.");
  if (cpus > 1)
    return of_strategy(
        fmt::format("central_storage keeps the variables on one cpu, but {} workers are cpus",
                    base::format_count(cpus)),
        "workers that are one cpu and one or more gpus or tpus",
        "Change the kind of all cpus but one to gpu or tpu (they may be emulated), set the role of "
        "these cpus to idle, or set strategy.kind to mirrored.");
  if (all.size() > 1) return std::nullopt;
  return of_strategy(
      "central_storage keeps the variables on the cpu, but no other device computes",
      "workers that are one cpu and one or more gpus or tpus",
      "Draw a gpu or tpu on the host (it may be emulated), or set strategy.kind to one_device.");
}

Problems of_one(std::optional<Problem> first, std::optional<Problem> second) {
  if (first) return {*first};
  return second ? Problems{*second} : Problems{};
}

// Maximum number of workers of data_parallel. Rank 0 forms a group with every other rank, each
// group needs a channel, and the number of channels of a machine is limited.
constexpr std::int64_t kMaxParallel = 16;

Problems data_parallel_problems(const Experiment& experiment) {
  Problems problems;
  const std::int64_t ranks = std::ssize(workers(experiment.topology));
  if (ranks > kMaxParallel)
    problems.push_back(of_strategy(
        fmt::format("data_parallel sends everything from one device, which is too slow for {}",
                    base::counted(ranks, "worker")),
        fmt::format("up to {} workers", base::format_count(kMaxParallel)),
        "Set the role of some workers to idle, or strategy.kind to ddp."));
  else if (auto several = several_hosts(experiment.topology, "data_parallel", "ddp"))
    problems.push_back(*several);
  if (data::owns_samples(experiment.data.sharding))
    problems.push_back(
        {"sharding_not_supported", ProblemCode::bad_input, "data.sharding.kind",
         fmt::format("with {} sharding every rank owns its samples, but in data_parallel rank 0 "
                     "reads all samples and scatters them at every step",
                     base::name_of(experiment.data.sharding.kind)),
         "iid", "Set data.sharding.kind to iid, or strategy.kind to ddp."});
  return problems;
}

}  // namespace

int storage_rank(const Experiment& experiment) {
  if (experiment.strategy.kind != StrategyKind::central_storage) return kNoRank;
  const auto all = workers(experiment.topology);
  if (all.size() < 2 || std::count_if(all.begin(), all.end(), is_cpu) != 1) return kNoRank;
  return static_cast<int>(std::find_if(all.begin(), all.end(), is_cpu) - all.begin());
}

std::int64_t count_trainers(const Experiment& experiment) {
  return std::ssize(workers(experiment.topology)) - (storage_rank(experiment) == kNoRank ? 0 : 1);
}

bool keeps_parameters(const Experiment& experiment, int rank) {
  if (has_servers(experiment.strategy.kind)) return rank < std::ssize(workers(experiment.topology));
  return experiment.strategy.kind != StrategyKind::data_parallel || rank == 0;
}

std::string_view duty_of(const Experiment& experiment, int rank) {
  if (rank == storage_rank(experiment)) return "storage";
  const topology::Network network(experiment.topology);
  const auto ranks = network.ranks();
  return static_cast<std::size_t>(rank) < ranks.size()
             ? base::name_of(network.device(ranks[static_cast<std::size_t>(rank)]).role)
             : "worker";
}

std::optional<FixedAlgorithm> fixed_algorithm(StrategyKind kind) {
  if (kind == StrategyKind::data_parallel)
    return FixedAlgorithm{collective::Algorithm::star,
                          "rank 0 sends to all ranks, and receives from all ranks"};
  if (kind == StrategyKind::model_parallel || kind == StrategyKind::pipeline)
    return FixedAlgorithm{collective::Algorithm::direct,
                          "only a table shared by two stages, and norms for clipping, are reduced"};
  if (has_servers(kind))
    return FixedAlgorithm{collective::Algorithm::star,
                          "every worker sends to the servers, and receives from them"};
  if (kind == StrategyKind::central_storage)
    return FixedAlgorithm{collective::Algorithm::star,
                          "every device sends to the storage, and receives from it"};
  return std::nullopt;
}

std::optional<FixedAlgorithm> required_all_reduce(StrategyKind kind) {
  if (kind == StrategyKind::tpu)
    return FixedAlgorithm{collective::Algorithm::torus,
                          "TPUs are connected with their neighbors in a torus"};
  return std::nullopt;
}

bool has_local_parameters(StrategyKind kind) {
  return kind == StrategyKind::gossip || kind == StrategyKind::local_sgd;
}

namespace {

Problems skip_update_problems(const Experiment& experiment) {
  if (!has_local_parameters(experiment.strategy.kind) ||
      experiment.training.non_finite != NonFinite::skip)
    return {};
  return {{"no_global_gradient", ProblemCode::bad_input, "training.non_finite",
           fmt::format("non_finite=skip needs a gradient of all ranks, but in {} every rank has "
                       "local parameters",
                       base::name_of(experiment.strategy.kind)),
           "go_on, stop", "Set training.non_finite to stop, or strategy.kind to mirrored."}};
}

Problems no_order(const Experiment& experiment) {
  if (experiment.run.clock == RunClock::machine || has_servers(experiment.strategy.kind)) return {};
  if (is_asynchronous_gossip(experiment.strategy))
    return {{"clock_not_supported", ProblemCode::bad_input, "run.clock",
             "the virtual clock supports parameter servers, but not asynchronous gossip", "machine",
             "Set run.clock to machine: the ranks record the order of their averages, and "
             "trainyard-cli "
             "replay --recompute replays the run."}};
  return {{"clock_not_supported", ProblemCode::bad_input, "run.clock",
           fmt::format("the virtual clock determines the order of events, but the order has no "
                       "effect on results of {}",
                       base::name_of(experiment.strategy.kind)),
           "machine",
           "Set run.clock to machine, or strategy.kind to parameter_server; trainyard-cli simulate "
           "predicts the "
           "times of "
           "any strategy."}};
}

// Refuses imposed links and paced devices with the virtual clock, which always uses the drawn
// speeds.
Problems virtual_clock_problems(const Experiment& experiment) {
  Problems problems;
  if (experiment.run.clock == RunClock::machine) return problems;
  if (experiment.run.links == LinkSpeed::imposed)
    problems.push_back({"imposed_on_virtual_clock", ProblemCode::bad_input, "run.links",
                        "run.links=imposed cannot be combined with the virtual clock, because that "
                        "clock already uses the drawn speeds",
                        "drawn_only", "Set run.links to drawn_only, or run.clock to machine."});
  if (experiment.run.devices == DeviceSpeed::paced)
    problems.push_back({"imposed_on_virtual_clock", ProblemCode::bad_input, "run.devices",
                        "run.devices=paced cannot be combined with the virtual clock, because that "
                        "clock already uses the drawn speeds",
                        "drawn_only", "Set run.devices to drawn_only, or run.clock to machine."});
  return problems;
}

Problems of_strategy(const Experiment& experiment) {
  const topology::Topology& topology = experiment.topology;
  switch (experiment.strategy.kind) {
    case StrategyKind::central_storage:
      return of_one(several_hosts(topology, "central_storage", "multi_worker_mirrored"),
                    no_storage(topology));
    case StrategyKind::data_parallel: return data_parallel_problems(experiment);
    case StrategyKind::parameter_server: return server_problems(experiment);
    case StrategyKind::rpc: return rpc_problems(experiment);
    case StrategyKind::gossip: return gossip_problems(experiment);
    case StrategyKind::local_sgd: return local_sgd_problems(experiment);
    case StrategyKind::tpu: return non_tpu_problems(topology);
    default: return {};
  }
}

}  // namespace

Problems duty_problems(const Experiment& experiment) {
  Problems problems = of_strategy(experiment);
  for (Problem& problem : skip_update_problems(experiment)) problems.push_back(std::move(problem));
  for (Problem& problem : no_order(experiment)) problems.push_back(std::move(problem));
  for (Problem& problem : virtual_clock_problems(experiment))
    problems.push_back(std::move(problem));
  return problems;
}

}  // namespace trainyard::experiment
