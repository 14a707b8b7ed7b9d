// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/data_plane.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "app/memory_export.h"
#include "backends/zmq/transport.h"
#include "core/comm/routed_transport.h"
#include "core/comm/shaped_transport.h"
#include "core/experiment/engine.h"
#include "core/experiment/imposed.h"

namespace trainyard::app {
namespace {

using experiment::TransportKind;
using Transports = std::vector<std::unique_ptr<comm::Transport>>;

bool uses_sockets(const experiment::Resolved& e) {
  const TransportKind kind = e.document.run.transport;
  return kind == TransportKind::zmq ||
         (kind == TransportKind::automatic && std::set(e.hosts.begin(), e.hosts.end()).size() > 1);
}

class Plane final : public session::DataPlane {
 public:
  Plane(const session::DataPlaneRequest& request, std::unique_ptr<shm::Transport> shared,
        std::unique_ptr<zmq::Bound> sockets, std::shared_ptr<comm::ShapedLinks> links)
      : hosts_(request.experiment->hosts),
        rank_(request.rank),
        compute_(request.compute),
        shared_(std::move(shared)),
        sockets_(std::move(sockets)),
        links_(std::move(links)) {
    if (!shared_ || sockets_) return;
    if (auto exported = export_arena(request)) exported_ = std::move(*exported);
    else not_on_device_reason_ = base::to_string(exported.error());
  }

  std::string endpoint() const override {
    return sockets_ ? sockets_->endpoint() : exported_ ? exported_->endpoint() : "";
  }
  std::string not_on_device_reason() const override { return not_on_device_reason_; }
  std::byte* on_device() const override {
    return exported_ ? exported_->on_device.memory.get() : nullptr;
  }

  base::Result<std::unique_ptr<comm::Transport>> connect(
      const std::vector<std::string>& endpoints) override {
    auto joined = join(endpoints);
    if (!joined || !links_) return joined;
    return comm::ShapedTransport::make(std::move(*joined), links_);
  }

 private:
  base::Result<std::unique_ptr<comm::Transport>> join(const std::vector<std::string>& endpoints) {
    if (!sockets_)
      return set_device_arenas(endpoints).map(
          [&] { return std::unique_ptr<comm::Transport>(std::move(shared_)); });
    auto connected = sockets_->connect(served_by_sockets(endpoints));
    if (!connected) return base::fail(connected.error());
    if (!shared_) return std::move(*connected);
    Transports parts;
    parts.push_back(std::move(shared_));
    parts.push_back(std::move(*connected));
    std::vector<int> route;
    for (const int host : hosts_)
      route.push_back(host == hosts_[static_cast<std::size_t>(rank_)] ? 0 : 1);
    return comm::RoutedTransport::make(std::move(parts), std::move(route));
  }

  base::Result<void> set_device_arenas(const std::vector<std::string>& endpoints) {
    if (!exported_ && std::ranges::all_of(endpoints, &std::string::empty)) return {};
    return import_memory(endpoints, rank_, exported_ ? &*exported_ : nullptr, *compute_)
        .and_then([&](ImportedArenas imports) {
          imports_ = std::move(imports);
          return shared_->set_device_arenas(imports_.arenas);
        });
  }

  // Returns the endpoints of the peers to connect through sockets. Clears those of peers on this
  // host if shared memory connects them.
  std::vector<std::string> served_by_sockets(std::vector<std::string> endpoints) const {
    for (std::size_t peer = 0; shared_ && peer < endpoints.size(); ++peer)
      if (hosts_[peer] == hosts_[static_cast<std::size_t>(rank_)]) endpoints[peer].clear();
    return endpoints;
  }

  std::vector<int> hosts_;
  int rank_;
  compute::Compute* compute_;
  // Part of this rank's arena in GPU memory that peers read; nullopt if the full arena is in shared
  // memory.
  std::optional<ExportedArena> exported_;
  std::string not_on_device_reason_;
  ImportedArenas imports_;
  std::unique_ptr<shm::Transport> shared_;
  std::unique_ptr<zmq::Bound> sockets_;
  std::shared_ptr<comm::ShapedLinks> links_;  // null if link speeds are not imposed
};

// IPv6 addresses are in brackets before a port.
std::string endpoint_of(const Listening& listening, int rank) {
  if (listening.address.empty())
    return fmt::format("ipc://{}/data-{}", listening.socket_directory, rank);
  const bool is_ipv6 = listening.address.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("tcp://[{}]:*", listening.address)
                 : fmt::format("tcp://{}:*", listening.address);
}

base::Result<std::unique_ptr<zmq::Bound>> bind_socket(const session::DataPlaneRequest& request,
                                                      const Listening& listening) {
  zmq::TransportOptions options;
  options.run_key = request.run_key;
  options.max_payload_bytes = request.max_message_bytes;
  options.channels = std::max(1, request.channels);
  options.sharers = request.experiment->trainers_and_servers();
  options.keys = listening.keys;
  return zmq::bind(request.rank, request.experiment->world(), request.generation,
                   endpoint_of(listening, request.rank), options);
}

}  // namespace

bool uses_shared_memory(const experiment::Resolved& e) {
  const TransportKind kind = e.document.run.transport;
  const bool neighbors = std::set(e.hosts.begin(), e.hosts.end()).size() < e.hosts.size();
  if (experiment::engine_of(e) != experiment::Engine::own) return false;
  return e.world() > 1 &&
         (kind == TransportKind::shm || (kind == TransportKind::automatic && neighbors));
}

comm::SpinPolicy patience_of(const experiment::Resolved& e) {
  return imposes_links(e) ? comm::kBriefPatience : comm::patience(e.trainers_and_servers());
}

bool imposes_links(const experiment::Resolved& e) {
  return e.world() > 1 && e.document.run.links == experiment::LinkSpeed::imposed;
}

base::Result<comm::DrawnLinks> imposed_links(const experiment::Resolved& e) {
  return comm::drawn_links(topology::Network(experiment::as_imposed(e.document)), e.ranks);
}

base::Result<std::unique_ptr<session::DataPlane>> make_data_plane(
    const session::DataPlaneRequest& request, const Inherited& inherited,
    const Listening& listening) {
  std::shared_ptr<comm::ShapedLinks> links;
  if (imposes_links(*request.experiment)) {
    auto opened = comm::ShapedLinks::open(inherited.shaped_links);
    if (!opened) return base::fail(opened.error());
    links = std::move(*opened);
  }
  std::unique_ptr<shm::Transport> shared;
  if (uses_shared_memory(*request.experiment)) {
    auto opened = shm::open(inherited.shared_memory, request.rank, patience_of(*request.experiment),
                            request.generation > 1);
    if (!opened) return base::fail(opened.error());
    shared = std::move(*opened);
  }
  std::unique_ptr<zmq::Bound> sockets;
  if (uses_sockets(*request.experiment)) {
    auto bound = bind_socket(request, listening);
    if (!bound) return base::fail(bound.error());
    sockets = std::move(*bound);
  }
  return std::make_unique<Plane>(request, std::move(shared), std::move(sockets), std::move(links));
}

}  // namespace trainyard::app
