// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/placement.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "core/base/network_range.h"
#include "core/base/units.h"
#include "core/collective/algorithm.h"
#include "core/experiment/bipartition.h"
#include "core/experiment/engine.h"
#include "core/experiment/fields.h"
#include "core/experiment/mesh.h"
#include "core/experiment/precision.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/servers.h"
#include "core/experiment/stages.h"
#include "core/topology/network.h"

namespace trainyard::experiment {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Problems;
using topology::Device;
using topology::DeviceId;
using topology::Network;
using topology::Role;
using topology::Topology;

std::string host_path(std::size_t host) { return "topology.hosts[" + std::to_string(host) + "]"; }

Problem no_workers() {
  return {"no_worker",           ProblemCode::bad_input,
          "topology.hosts",      "no device has the role worker",
          "at least one worker", "Draw a device, or set the role of a device to worker."};
}

// Checks routes from the first rank to one rank of every other host. That suffices: links have both
// directions, and devices of a host share its bus.
void check_routes(const std::vector<DeviceId>& ranks, const Network& network, Problems& problems) {
  std::set<int> seen{network.host_index(ranks.front())};
  for (const DeviceId rank : ranks) {
    if (!seen.insert(network.host_index(rank)).second) continue;
    if (auto route = network.route(ranks.front(), rank); !route) {
      Problem problem = route.error();
      problem.where = host_path(static_cast<std::size_t>(network.host_index(rank)));
      problems.push_back(std::move(problem));
    }
  }
}

void check_one_device(std::int64_t workers, Problems& problems) {
  if (workers < 2) return;
  problems.push_back(
      {"too_many_workers", ProblemCode::bad_input, "strategy.kind",
       fmt::format("one_device uses one device, but {} devices have the role worker", workers),
       "one worker", "Set the role of the other devices to idle, or strategy.kind to mirrored."});
}

void check_several_hosts(const Network& network, Problems& problems) {
  const std::vector<int> hosts = hosts_of(network, network.workers());
  if (std::set<int>(hosts.begin(), hosts.end()).size() > 1) return;
  problems.push_back({"one_host", ProblemCode::bad_input, "strategy.kind",
                      "multi_worker_mirrored needs several hosts, but all workers are on one host",
                      "workers on two hosts or more",
                      "Draw another host with a worker, or set strategy.kind to mirrored."});
}

// Returns a text such as "of the 6 ranks that reduce with rank 0, 4 are on \"host0\" and 2 on
// \"host1\"".
std::string uneven_hosts_text(const std::vector<int>& group, const collective::Formation& formation,
                              const std::vector<int>& hosts, const Topology& topology) {
  const auto& first = formation.hosts.front();
  const auto& other = *std::ranges::find_if(
      formation.hosts, [&](const auto& host) { return host.size() != first.size(); });
  const auto name = [&](const std::vector<int>& host) {
    const int rank = group[static_cast<std::size_t>(host.front())];
    return "\"" +
           topology.hosts[static_cast<std::size_t>(hosts[static_cast<std::size_t>(rank)])].name +
           "\"";
  };
  return fmt::format("of the {} ranks that reduce with rank {}, {} {} on {} and {} on {}",
                     base::format_count(std::ssize(group)), group.front(),
                     base::format_count(std::ssize(first)), first.size() == 1 ? "is" : "are",
                     name(first), base::format_count(std::ssize(other)), name(other));
}

// Reports the first group of ranks that the algorithm cannot sum over. Invalid meshes are reported
// elsewhere.
void check_algorithm(const Experiment& experiment, const Network& network, Problems& problems) {
  const collective::Algorithm algorithm = experiment.strategy.algorithm;
  if (algorithm == collective::Algorithm::automatic || !mesh_problems(experiment).empty()) return;
  const std::vector<int> hosts = hosts_of(network, network.ranks());
  for (const std::vector<int>& group : summing_groups(experiment)) {
    std::vector<int> theirs;
    theirs.reserve(group.size());
    for (const int rank : group) theirs.push_back(hosts[static_cast<std::size_t>(rank)]);
    const collective::Formation formation = collective::formation(theirs);
    if (collective::fits(algorithm, formation)) continue;
    problems.push_back(
        {"hosts_not_even", ProblemCode::bad_input, "strategy.algorithm",
         fmt::format("{} needs the same number of ranks on every host: {}",
                     base::name_of(algorithm),
                     uneven_hosts_text(group, formation, hosts, experiment.topology)),
         "groups that have the same number of ranks on each of their hosts",
         "Set the role of some devices to idle, or strategy.algorithm to leader_hierarchical."});
    return;
  }
}

// Checks the routes between ranks. Evaluators are not checked, because they exchange no data with
// other ranks.
std::vector<DeviceId> data_plane_ranks(const Network& network) {
  std::vector<DeviceId> ranks = network.workers();
  for (const DeviceId server : network.with_role(Role::parameter_server)) ranks.push_back(server);
  return ranks;
}

// Expects a valid drawing with workers.
void check_network(const Experiment& experiment, const Network& network, Problems& problems) {
  const StrategySpec& strategy = experiment.strategy;
  check_routes(data_plane_ranks(network), network, problems);
  if (strategy.kind == StrategyKind::multi_worker_mirrored) check_several_hosts(network, problems);
  const bool has_algorithm = strategy.kind != StrategyKind::one_device &&
                             strategy.engine == Engine::own && !fixed_algorithm(strategy.kind);
  if (has_algorithm) check_algorithm(experiment, network, problems);
}

std::string this_machine() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

bool is_this_machine(const std::string& address) {
  if (address.empty() || address == "localhost" || address == "127.0.0.1" || address == "::1")
    return true;
  const std::string name = this_machine();
  return address == name || address == name.substr(0, name.find('.'));
}

}  // namespace

bool is_other_machine(const topology::Host& host) { return !is_this_machine(host.address); }

namespace {

// Returns the settings that are not supported if a host, whose document path is `path`, is another
// machine.
Problems other_machine_problems(const Experiment& e, const std::string& path) {
  Problems problems;
  const auto require = [&](bool supported, const char* field, const char* accepted) {
    if (!supported)
      problems.push_back({"not_on_other_machines", ProblemCode::unavailable, field,
                          "this value is not supported if ranks run on other machines", accepted,
                          fmt::format("Change the value, or clear {}.address.", path)});
  };
  const RunSpec& run = e.run;
  require(run.clock == RunClock::machine, "run.clock", "machine");
  require(run.transport == TransportKind::automatic || run.transport == TransportKind::zmq,
          "run.transport", "auto, zmq");
  require(run.links == LinkSpeed::drawn_only, "run.links", "drawn_only");
  require(e.strategy.engine == Engine::own, "strategy.engine", "own");
  return problems;
}

// Returns the problems of connections between machines. `has_other`: a host is another machine.
Problems network_problems(const NetworkSpec& network, bool has_other) {
  Problems problems;
  for (std::size_t i = 0; i < network.trusted.size(); ++i)
    if (!base::is_network_range(network.trusted[i]))
      problems.push_back({"bad_network", ProblemCode::bad_input,
                          fmt::format("network.trusted[{}]", i),
                          fmt::format("\"{}\" is not a network", network.trusted[i]),
                          "CIDR notation, such as 10.0.0.0/8 or fd00::/8", "Correct the network."});
  if (has_other && network.encryption == Encryption::none && network.trusted.empty())
    problems.push_back({"no_trusted_network", ProblemCode::bad_input, "network.encryption",
                        "messages between machines would be readable by others in the network",
                        "curve; none only in a trusted network",
                        "Set network.encryption to curve, or name the networks that you trust in "
                        "network.trusted."});
  return problems;
}

// False for a text that ssh would read as an option, or as several words.
bool is_plain_address(const std::string& address) {
  return !address.starts_with('-') && std::ranges::none_of(address, [](unsigned char character) {
    return character <= ' ' || character == 127;
  });
}

Problem bad_address(const topology::Host& host, const std::string& path) {
  return {"bad_address",
          ProblemCode::bad_input,
          path + ".address",
          fmt::format("\"{}\" is not the address of a machine", host.address),
          "[USER@]HOST as ssh accepts it, or joined:NAME",
          "Correct the address, or clear it: the host is then this machine."};
}

Problem evaluator_elsewhere(const Device& device, const std::string& path) {
  return {"not_on_other_machines",
          ProblemCode::unavailable,
          path + ".role",
          fmt::format("{} reads checkpoints from the disk of this machine, but its host is another "
                      "machine",
                      device.name),
          "a role other than evaluator",
          "Draw the evaluator on a host without address."};
}

Problem not_emulated(const Device& device, const std::string& path) {
  return {"emulation_is_off",
          ProblemCode::unavailable,
          path + ".kind",
          fmt::format("{} is a {}, which is emulated on this machine, but run.emulate is off",
                      device.name, base::name_of(device.kind)),
          "cpu",
          device.kind == topology::DeviceKind::gpu
              ? "Set run.emulate to true, set the field gpu to the index of a GPU of this machine, "
                "or change the kind to cpu."
              : "Set run.emulate to true, or change the kind to cpu."};
}

// True if workers are on CPUs and on GPUs.
bool computes_on_both(const Topology& topology) {
  const Network network(topology);
  const auto on_gpu = [&](topology::DeviceId worker) {
    return topology::is_on_gpu(network.device(worker));
  };
  const auto workers = network.workers();
  return std::ranges::any_of(workers, on_gpu) && !std::ranges::all_of(workers, on_gpu);
}

// Returns the sum of `figure(device)` over all devices that ranks run on.
template <class Figure>
std::int64_t sum_over_ranks(const Topology& topology, Figure figure) {
  std::int64_t sum = 0;
  for (const topology::Host& host : topology.hosts)
    for (const Device& device : host.devices)
      if (runs(device)) sum += figure(device);
  return sum;
}

std::int64_t count_ranks(const Topology& topology) {
  return sum_over_ranks(topology, [](const Device&) { return 1; });
}

bool normalizes(const model::ModelSpec& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const model::LayerSpec& layer) {
    return layer.kind == model::LayerKind::batch_norm;
  });
}

// True if a batch normalization layer uses statistics of each rank's local samples.
bool has_local_batch_norm(const model::ModelSpec& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const model::LayerSpec& layer) {
    return layer.kind == model::LayerKind::batch_norm && !layer.synchronized;
  });
}

// Describes how averaging weights differs from averaging gradients. Empty if the update is linear
// in the gradient, because then both methods give the same result.
std::string of_averaged_weights(const TrainingSpec& training) {
  const OptimizerSpec& optimizer = training.optimizer;
  const bool adam = optimizer.kind != OptimizerKind::sgd,
             momentum = !adam && optimizer.momentum > 0;
  if (!adam && !momentum && training.clip_norm <= 0) return "";
  std::string text = "weights are averaged after local updates";
  if (adam) text += " with local moments";
  if (momentum)
    text += " with local momentum, which matters if ranks have unequal numbers of samples";
  if (training.clip_norm > 0) text += ", and each rank clips its gradient by its local norm";
  return text;
}

// Describes how often ranks synchronize, and which state they do not synchronize. If the run ends
// before the first synchronization, the text says that instead.
std::string of_local_steps(const Experiment& experiment) {
  const LocalSgdSpec& local = experiment.strategy.local_sgd;
  const std::int64_t every = local.average_every_steps, steps = experiment.training.steps;
  const bool averages = local.rule == LocalRule::average;
  const std::string interval = base::counted(every, "step");
  if (steps > 0 && every > steps)
    return fmt::format(
        "every rank takes local steps, and {}: the run has {}, but ranks "
        "synchronize every {}",
        averages ? "weights are averaged only at the end"
                 : "the center, which is evaluated and saved, never moves",
        base::counted(steps, "step"), interval);
  const OptimizerSpec& optimizer = experiment.training.optimizer;
  const bool has_moments = optimizer.kind != OptimizerKind::sgd || optimizer.momentum > 0;
  return fmt::format("every rank takes local steps, and weights are {} every {}{}",
                     averages ? "averaged" : "pulled toward a center", interval,
                     has_moments ? ", moments are not averaged" : "");
}

}  // namespace

std::vector<int> hosts_of(const Network& network, const std::vector<DeviceId>& ranks) {
  std::vector<int> hosts;
  hosts.reserve(ranks.size());
  for (const DeviceId rank : ranks) hosts.push_back(network.host_index(rank));
  return hosts;
}

std::vector<int> hosts_of_workers(const Topology& topology) {
  const Network network(topology);
  return hosts_of(network, network.workers());
}

std::int64_t count_workers(const Topology& topology) {
  return sum_over_ranks(topology, [](const Device& device) { return works(device) ? 1 : 0; });
}

std::int64_t count_servers(const Topology& topology) {
  return sum_over_ranks(
      topology, [](const Device& device) { return device.role == Role::parameter_server ? 1 : 0; });
}

bool is_emulated(const Device& device) {
  return runs(device) && device.kind != topology::DeviceKind::cpu && !topology::is_on_gpu(device);
}

std::optional<std::string> emulation_caveat(const Topology& topology) {
  const auto emulated = [&](auto... kinds) {
    return sum_over_ranks(topology, [=](const Device& device) {
      return (... || (device.kind == kinds)) && is_emulated(device) ? 1 : 0;
    });
  };
  using topology::DeviceKind;
  const std::int64_t all = emulated(DeviceKind::gpu, DeviceKind::tpu),
                     gpus = emulated(DeviceKind::gpu);
  if (all == 0) return std::nullopt;
  const char* of = gpus == 0 ? "a TPU" : gpus == all ? "a GPU" : "GPUs or TPUs";
  return fmt::format("{} of {} {} emulated on the CPU, whose speed says nothing about {}",
                     base::format_count(all), base::counted(count_ranks(topology), "device"),
                     all == 1 ? "is" : "are", of);
}

std::optional<std::string> shared_cores_caveat(const Topology& topology, const RunSpec& run,
                                               int usable) {
  std::int64_t ranks = 0, wanted = 0;
  for (const topology::Host& host : topology.hosts)
    for (const Device& device : host.devices)
      if (runs(device) && !is_other_machine(host)) ++ranks, wanted += device.cores;
  if (ranks < 2 || wanted <= usable || run.clock == RunClock::virtual_time) return std::nullopt;
  return fmt::format("{} share {}: times include waiting for each other",
                     base::counted(ranks, "rank"), base::counted(usable, "core"));
}

std::optional<std::string> shared_gpus_caveat(const Topology& topology) {
  std::map<std::int64_t, int> ranks;
  for (const topology::Host& host : topology.hosts)
    for (const Device& device : host.devices)
      if (runs(device) && topology::is_on_gpu(device)) ++ranks[device.gpu];
  std::string text;
  for (const auto& [gpu, count] : ranks)
    if (count > 1)
      text += text.empty()
                  ? fmt::format("GPU {} is shared by {}", gpu, base::counted(count, "rank"))
                  : fmt::format(", GPU {} by {}", gpu, base::format_count(count));
  return text.empty() ? std::nullopt
                      : std::optional(text + ": times include waiting for each other");
}

int index_on_gpu(const Network& network, const std::vector<DeviceId>& ranks, int rank) {
  const auto own = ranks.begin() + rank;
  const std::int64_t gpu = network.device(*own).gpu;
  return static_cast<int>(std::count_if(ranks.begin(), own, [&](DeviceId other) {
    const Device& device = network.device(other);
    return topology::is_on_gpu(device) && device.gpu == gpu;
  }));
}

std::optional<std::string> equivalence_caveats(const Experiment& experiment) {
  const Mesh mesh = mesh_of(experiment);
  const bool several = mesh.data > 1;
  const data::ShardingSpec& sharding = experiment.data.sharding;
  std::vector<std::string> why;
  if (several && data::owns_samples(sharding))
    why.push_back(fmt::format("every rank trains on its own samples ({} sharding)",
                              base::name_of(sharding.kind)));
  if (several && experiment.strategy.kind != StrategyKind::one_device &&
      experiment.strategy.compression.kind != compute::compression::Scheme::none)
    why.push_back(fmt::format("gradients are compressed ({})",
                              base::name_of(experiment.strategy.compression.kind)));
  if (has_local_batch_norm(experiment.model) && several)
    why.emplace_back(
        "batch_norm normalizes over the samples of each rank, and the running statistics of ranks "
        "differ");
  if (normalizes(experiment.model) && experiment.training.accumulation_steps > 1)
    why.emplace_back("batch_norm normalizes over the samples of each micro-step");
  if (several && averages_weights(experiment.strategy))
    why.push_back(of_averaged_weights(experiment.training));
  if (several && experiment.strategy.kind == StrategyKind::gossip)
    why.emplace_back(
        is_asynchronous_gossip(experiment.strategy)
            ? "every rank takes local steps at its own speed, and averages its weights "
              "with one neighbor at a time"
            : "every rank takes local steps, and averages its weights only with its "
              "neighbors");
  if (several && computes_on_both(experiment.topology))
    why.emplace_back(
        "replicas on CPUs and on GPUs round differently, so their weights diverge slightly");
  if (is_mixed(experiment.training.precision) && mesh.tensor > 1)
    why.push_back(fmt::format("outputs are summed over ranks in {}, with every addition rounded",
                              base::name_of(experiment.training.precision)));
  if (several && experiment.strategy.kind == StrategyKind::local_sgd)
    why.push_back(of_local_steps(experiment));
  if (updates_each_micro_batch(experiment.strategy) && experiment.training.accumulation_steps > 1)
    why.emplace_back(
        "every stage updates after each micro-batch, with a gradient that was computed with older "
        "weights; the earlier the stage, the older these weights (pipedream)");
  std::erase(why, "");
  if (why.empty()) return std::nullopt;
  const auto join = [](const std::string& left, const std::string& right) {
    return fmt::format("{}, and {}", left, right);
  };
  return fmt::format("not equivalent to one device with the same global batch: {}",
                     std::accumulate(why.begin() + 1, why.end(), why.front(), join));
}

Problems placement_problems(const Experiment& experiment) {
  Problems problems = topology::validate(experiment.topology, "topology");
  const bool drawn_well = problems.empty();
  const std::int64_t workers = count_workers(experiment.topology);
  if (workers == 0) problems.push_back(no_workers());
  if (drawn_well && workers > 0) {
    check_network(experiment, Network(experiment.topology), problems);
    for (Problem& problem : duty_problems(experiment)) problems.push_back(std::move(problem));
  }
  if (experiment.strategy.kind == StrategyKind::one_device) check_one_device(workers, problems);
  for (Problem& problem : engine_problems(experiment)) problems.push_back(std::move(problem));
  return problems;
}

Problems start_problems(const Experiment& experiment) {
  Problems problems;
  if (experiment.strategy.kind != StrategyKind::one_device)
    problems = absent_engine(experiment.strategy.engine);
  for (std::size_t h = 0; h < experiment.topology.hosts.size(); ++h) {
    const topology::Host& host = experiment.topology.hosts[h];
    if (!is_plain_address(host.address)) problems.push_back(bad_address(host, host_path(h)));
    if (is_other_machine(host) && problems.empty())
      problems = other_machine_problems(experiment, host_path(h));
    for (std::size_t d = 0; d < host.devices.size(); ++d) {
      const Device& device = host.devices[d];
      const std::string path = fmt::format("{}.devices[{}]", host_path(h), d);
      if (is_emulated(device) && !experiment.run.emulate)
        problems.push_back(not_emulated(device, path));
      if (device.role == Role::evaluator && is_other_machine(host))
        problems.push_back(evaluator_elsewhere(device, path));
    }
  }
  const bool has_other = std::ranges::any_of(experiment.topology.hosts, is_other_machine);
  for (Problem& problem : network_problems(experiment.network, has_other))
    problems.push_back(std::move(problem));
  return problems;
}

}  // namespace trainyard::experiment
