// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/remote_machines.h"

#include <fmt/core.h>

#include <fstream>
#include <map>
#include <set>

#include "app/agent_connection.h"
#include "app/data_plane.h"
#include "app/network_address.h"
#include "backends/zmq/relay.h"
#include "core/base/machine.h"
#include "core/experiment/placement.h"
#include "core/session/system/rank_environment.h"
#include "core/session/system/shared_files.h"

namespace trainyard::app {
namespace {

using base::Result;

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
    network_ = &experiment_->document.network;
    if (network_->encryption == experiment::Encryption::curve) {
      auto keys = zmq::make_curve_keys();
      if (!keys) return base::fail(keys.error());
      keys_ = std::move(*keys);
    }
    for (const session::RankIdentity& identity : request.ranks)
      if (const topology::Host& host = experiment_->host_of(identity.rank);
          is_remote(identity.rank) && !machines_.contains(host.name))
        if (auto ok = connect_to(host, request); !ok) return ok;
    find_common_level();
    const auto files = session::shared_files(*experiment_);
    if (!files) return base::fail(files.error());
    for (auto& [name, machine] : machines_) {
      auto directory = machine.host->prepare(preparation(name, request), *files);
      if (!directory) return base::fail(directory.error());
      files_[name] = std::move(*directory);
    }
    return {};
  }

  bool is_remote(int rank) const override { return experiment_->is_on_other_machine(rank); }

  Result<std::unique_ptr<session::RankHandle>> start(
      const session::RankIdentity& identity) override {
    const topology::Network network(experiment_->document.topology);
    const auto device = experiment_->ranks[static_cast<std::size_t>(identity.rank)];
    const session::RankPlace place = session::place_of(identity.rank, experiment_->hosts);
    return machines_.at(experiment_->host_of(identity.rank).name)
        .host->start({.rank = identity.rank,
                      .token = identity.token,
                      .cores = network.device(device).cores,
                      .local_rank = place.local_rank,
                      .world = place.world});
  }

  const std::string& own_address() const override { return own_address_; }
  int cpu_level() const override { return cpu_level_; }
  const std::filesystem::path& files_of(int rank) const override {
    return files_.at(experiment_->host_of(rank).name);
  }
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
    wish.is_canceled = request.is_canceled;
    auto connected = connect_agent(wish);
    if (!connected) return base::fail(connected.error());
    const session::AgentHello& hello = connected->host->hello();
    auto address = agent_address(hello, *network_, wish.name);
    auto own = own_address_.empty() ? own_address_toward_agent(hello, *network_)
                                    : base::Result<std::string>(own_address_);
    if (!address) return base::fail(address.error());
    if (!own) return base::fail(own.error());
    for (const std::string& one : {*address, *own})
      if (auto trusted = check_trust(one, *network_, wish.name); !trusted) return trusted;
    own_address_ = std::move(*own);
    addresses_[host.name] = std::move(*address);
    machines_.emplace(host.name, std::move(*connected));
    return {};
  }

  session::PrepareRun preparation(const std::string& name,
                                  const session::LaunchRequest& request) const {
    session::PrepareRun run;
    run.run = request.run_directory.filename().string();
    run.software = TRAINYARD_VERSION;
    run.ranks = 0;
    for (const session::RankIdentity& identity : request.ranks)
      run.ranks += experiment_->host_of(identity.rank).name == name ? 1 : 0;
    if (uses_shared_memory(*experiment_))
      run.shared_bytes.assign(request.shared_bytes.begin(), request.shared_bytes.end());
    run.channels = std::max(1, request.channels);
    run.cpu_level = cpu_level_;
    run.kernels = session::kernel_settings();
    run.address = addresses_.at(name);
    run.public_key = keys_.public_key;
    run.secret_key = keys_.secret_key;
    return run;
  }

  const experiment::Resolved* experiment_ = nullptr;
  const experiment::NetworkSpec* network_ = nullptr;
  zmq::CurveKeys keys_;
  std::string own_address_;
  int cpu_level_ = 0;
  // by name of the host
  std::map<std::string, AgentConnection> machines_;
  std::map<std::string, std::string> addresses_;  // at which ranks listen
  std::map<std::string, std::filesystem::path> files_;
};

}  // namespace

bool uses_other_machines(const experiment::Resolved& experiment) {
  for (int rank = 0; rank < experiment.world(); ++rank)
    if (experiment.is_on_other_machine(rank)) return true;
  return false;
}

Result<std::shared_ptr<RemoteMachines>> RemoteMachines::connect(
    const session::LaunchRequest& request) {
  auto machines = std::make_shared<Machines>();
  if (auto ok = machines->connect(request); !ok) return base::fail(ok.error());
  return machines;
}

}  // namespace trainyard::app
