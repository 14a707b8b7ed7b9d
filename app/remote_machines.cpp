// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/remote_machines.h"

#include <fmt/core.h>

#include <fstream>
#include <map>
#include <set>

#include "app/agent_connection.h"
#include "app/data_plane.h"
#include "backends/zmq/relay.h"
#include "core/base/machine.h"
#include "core/experiment/placement.h"

namespace trainyard::app {
namespace {

using base::Result;

const topology::Host& host_of(const experiment::Resolved& experiment, std::size_t rank) {
  return experiment.document.topology.hosts[static_cast<std::size_t>(experiment.hosts[rank])];
}

// Appends what the process of a rank printed to its log in the run directory. Called in the thread
// of one host, and each rank belongs to one host.
void append_log(const std::filesystem::path& run_directory, int rank, const std::string& text) {
  std::ofstream(run_directory / "logs" / fmt::format("rank-{}.log", rank),
                std::ios::app | std::ios::binary)
      << text;
}

class Machines final : public RemoteMachines {
 public:
  Result<void> connect(const session::LaunchRequest& request) {
    experiment_ = request.experiment;
    auto keys = zmq::make_curve_keys();
    if (!keys) return base::fail(keys.error());
    keys_ = std::move(*keys);
    for (std::size_t r = 0; r < request.ranks.size(); ++r)
      if (const topology::Host& host = host_of(*experiment_, r);
          experiment::is_other_machine(host) && !machines_.contains(host.name))
        if (auto ok = connect_to(host, request); !ok) return ok;
    find_common_level();
    for (auto& [name, machine] : machines_)
      if (auto ok = machine.host->prepare(preparation(name, request)); !ok) return ok;
    return {};
  }

  bool is_remote(int rank) const override {
    return experiment::is_other_machine(host_of(*experiment_, static_cast<std::size_t>(rank)));
  }

  Result<std::unique_ptr<session::RankHandle>> start(
      const session::RankIdentity& identity) override {
    const auto r = static_cast<std::size_t>(identity.rank);
    const topology::Network network(experiment_->document.topology);
    return machines_.at(host_of(*experiment_, r).name)
        .host->start({.rank = identity.rank,
                      .token = identity.token,
                      .cores = network.device(experiment_->ranks[r]).cores});
  }

  const std::string& own_address() const override { return own_address_; }
  int cpu_level() const override { return cpu_level_; }
  const zmq::CurveKeys& keys() const override { return keys_; }

 private:
  // CPUs of different kinds round differently: oneDNN and OpenBLAS choose other loops for each.
  void find_common_level() {
    bool differ = base::is_cpu_level_limited();
    int least = base::cpu_level();
    for (const auto& [name, machine] : machines_) {
      const session::AgentHello& hello = machine.host->hello();
      differ |= hello.cpu != base::cpu_name() || hello.cpu_level != base::cpu_level();
      least = std::min(least, static_cast<int>(hello.cpu_level));
    }
    cpu_level_ = differ ? least : 0;
  }

  Result<void> connect_to(const topology::Host& host, const session::LaunchRequest& request) {
    AgentWish wish;
    wish.destination = host.address;
    wish.name = fmt::format("{} ({})", host.name, host.address);
    wish.log_file = request.run_directory / "logs" / fmt::format("ssh-{}.log", host.name);
    wish.relay_to_coordinator = [endpoint = request.ranks.front().endpoint] {
      return zmq::relay_to_coordinator(endpoint);
    };
    wish.log = [directory = request.run_directory](int rank, const std::string& text) {
      append_log(directory, rank, text);
    };
    auto connected = connect_agent(wish);
    if (!connected) return base::fail(connected.error());
    if (own_address_.empty()) own_address_ = connected->host->hello().reached_from;
    machines_.emplace(host.name, std::move(*connected));
    return {};
  }

  session::PrepareRun preparation(const std::string& name,
                                  const session::LaunchRequest& request) const {
    const session::AgentHello& hello = machines_.at(name).host->hello();
    session::PrepareRun run;
    run.run = request.run_directory.filename().string();
    run.software = TRAINYARD_VERSION;
    run.ranks = 0;
    for (std::size_t r = 0; r < request.ranks.size(); ++r)
      run.ranks += host_of(*experiment_, r).name == name ? 1 : 0;
    if (uses_shared_memory(*experiment_))
      run.shared_bytes.assign(request.shared_bytes.begin(), request.shared_bytes.end());
    run.channels = std::max(1, request.channels);
    run.cpu_level = cpu_level_;
    run.address = hello.reached_at.empty() && !hello.addresses.empty() ? hello.addresses.front()
                                                                       : hello.reached_at;
    run.public_key = keys_.public_key;
    run.secret_key = keys_.secret_key;
    return run;
  }

  const experiment::Resolved* experiment_ = nullptr;
  zmq::CurveKeys keys_;
  std::string own_address_;
  int cpu_level_ = 0;
  std::map<std::string, AgentConnection> machines_;  // by name of the host
};

}  // namespace

bool uses_other_machines(const experiment::Resolved& experiment) {
  for (std::size_t r = 0; r < experiment.hosts.size(); ++r)
    if (experiment::is_other_machine(host_of(experiment, r))) return true;
  return false;
}

Result<std::shared_ptr<RemoteMachines>> RemoteMachines::connect(
    const session::LaunchRequest& request) {
  auto machines = std::make_shared<Machines>();
  if (auto ok = machines->connect(request); !ok) return base::fail(ok.error());
  return machines;
}

}  // namespace trainyard::app
