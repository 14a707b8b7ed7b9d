// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/placement.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/base/units.h"
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
  return {ProblemCode::bad_input, "topology.hosts", "no device has the role worker", "at least one worker", "Draw a device, or set the role of one to worker."};
}

// Links lead both ways and the devices of a host share its bus: it is enough to look from the first worker to one worker
// of every other host.
void check_routes(const Network& network, Problems& problems) {
  const std::vector<DeviceId> workers = network.workers();
  std::set<int> seen{network.host_index(workers.front())};
  for (const DeviceId worker : workers) {
    if (!seen.insert(network.host_index(worker)).second) continue;
    if (auto route = network.route(workers.front(), worker); !route) {
      Problem problem = route.error();
      problem.where = host_path(static_cast<std::size_t>(network.host_index(worker)));
      problems.push_back(std::move(problem));
    }
  }
}

void check_strategy(StrategyKind kind, std::int64_t workers, Problems& problems) {
  if (kind != StrategyKind::one_device || workers < 2) return;
  problems.push_back({ProblemCode::bad_input, "strategy.kind", "one_device uses one device, but " + std::to_string(workers) + " devices have the role worker",
                      "one worker", "Set the role of the others to idle, or use mirrored."});
}

std::string this_machine() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

bool is_this_machine(const std::string& address) {
  if (address.empty() || address == "localhost" || address == "127.0.0.1" || address == "::1") return true;
  const std::string name = this_machine();
  return address == name || address == name.substr(0, name.find('.'));
}

Problem other_machine(const topology::Host& host, const std::string& path) {
  return {ProblemCode::unavailable, path + ".address", host.name + " is another machine (" + host.address + "); this version starts ranks on this machine only",
          "empty, or this machine", "Clear the address: several drawn hosts may be this machine."};
}

Problem not_emulated(const Device& device, const std::string& path) {
  return {ProblemCode::unavailable, path + ".kind",
          device.name + " is a " + std::string(base::name_of(device.kind)) + ", which needs emulation here, and run.emulate is off", "cpu",
          "Set run.emulate to true, or make it a cpu."};
}

template <class Figure>
std::int64_t sum_over_workers(const Topology& topology, Figure figure) {
  std::int64_t sum = 0;
  for (const topology::Host& host : topology.hosts)
    for (const Device& device : host.devices)
      if (device.role == Role::worker) sum += figure(device);
  return sum;
}

}  // namespace

std::int64_t count_workers(const Topology& topology) {
  return sum_over_workers(topology, [](const Device&) { return 1; });
}

bool is_emulated(const Device& device) { return device.role == Role::worker && device.kind != topology::DeviceKind::cpu; }

std::optional<std::string> shared_cores(const Topology& topology, int usable) {
  const std::int64_t ranks = count_workers(topology), wanted = sum_over_workers(topology, [](const Device&device) { return device.cores; });
  if (ranks < 2 || wanted <= usable) return std::nullopt;
  return base::format_count(ranks) + " ranks share " + base::format_count(usable) + (usable == 1 ? " core" : " cores") +
         ": times include waiting for each other";
}

Problems placement_problems(const Experiment& experiment) {
  Problems problems = topology::validate(experiment.topology, "topology");
  const bool drawn_well = problems.empty();
  const std::int64_t workers = count_workers(experiment.topology);
  if (workers == 0) problems.push_back(no_workers());
  if (drawn_well && workers > 0) check_routes(Network(experiment.topology), problems);
  check_strategy(experiment.strategy.kind, workers, problems);
  return problems;
}

Problems start_problems(const Experiment& experiment) {
  Problems problems;
  for (std::size_t h = 0; h < experiment.topology.hosts.size(); ++h) {
    const topology::Host& host = experiment.topology.hosts[h];
    if (!is_this_machine(host.address)) problems.push_back(other_machine(host, host_path(h)));
    for (std::size_t d = 0; d < host.devices.size(); ++d) {
      const Device& device = host.devices[d];
      if (is_emulated(device) && !experiment.run.emulate) problems.push_back(not_emulated(device, host_path(h) + ".devices[" + std::to_string(d) + "]"));
    }
  }
  return problems;
}

}  // namespace trainyard::experiment
