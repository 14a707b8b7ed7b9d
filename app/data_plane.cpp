// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/data_plane.h"

#include <algorithm>
#include <set>

#include "backends/shm/transport.h"
#include "backends/zmq/transport.h"
#include "core/comm/routed_transport.h"

namespace trainyard::app {
namespace {

using experiment::TransportKind;
using Transports = std::vector<std::unique_ptr<comm::Transport>>;

bool uses_sockets(const experiment::Resolved& e) {
  const TransportKind kind = e.document.run.transport;
  return kind == TransportKind::zmq || (kind == TransportKind::automatic && std::set(e.hosts.begin(), e.hosts.end()).size() > 1);
}

class Plane final : public session::DataPlane {
 public:
  Plane(const session::DataPlaneRequest& request, std::unique_ptr<comm::Transport> shared, std::unique_ptr<zmq::Bound> sockets)
      : hosts_(request.experiment->hosts), rank_(request.rank), shared_(std::move(shared)), sockets_(std::move(sockets)) {}

  std::string endpoint() const override { return sockets_ ? sockets_->endpoint() : ""; }

  base::Result<std::unique_ptr<comm::Transport>> connect(const std::vector<std::string>& endpoints) override {
    if (!sockets_) return std::move(shared_);
    auto connected = sockets_->connect(served_by_sockets(endpoints));
    if (!connected) return base::fail(connected.error());
    if (!shared_) return std::move(*connected);
    Transports parts;
    parts.push_back(std::move(shared_));
    parts.push_back(std::move(*connected));
    std::vector<int> route;
    for (const int host : hosts_) route.push_back(host == hosts_[static_cast<std::size_t>(rank_)] ? 0 : 1);
    return comm::RoutedTransport::make(std::move(parts), std::move(route));
  }

 private:
  // Peers of the own host are met in shared memory, where there is any.
  std::vector<std::string> served_by_sockets(std::vector<std::string> endpoints) const {
    for (std::size_t peer = 0; shared_ && peer < endpoints.size(); ++peer)
      if (hosts_[peer] == hosts_[static_cast<std::size_t>(rank_)]) endpoints[peer].clear();
    return endpoints;
  }

  std::vector<int> hosts_;
  int rank_;
  std::unique_ptr<comm::Transport> shared_;
  std::unique_ptr<zmq::Bound> sockets_;
};

}  // namespace

bool uses_shared_memory(const experiment::Resolved& e) {
  const TransportKind kind = e.document.run.transport;
  const bool neighbours = std::set(e.hosts.begin(), e.hosts.end()).size() < e.hosts.size();
  return e.world() > 1 && (kind == TransportKind::shm || (kind == TransportKind::automatic && neighbours));
}

base::Result<std::unique_ptr<session::DataPlane>> make_data_plane(const session::DataPlaneRequest& request, int shared_memory,
                                                                  const std::string& socket_directory) {
  std::unique_ptr<comm::Transport> shared;
  if (uses_shared_memory(*request.experiment)) {
    auto opened = shm::open(shared_memory, request.rank);
    if (!opened) return base::fail(opened.error());
    shared = std::move(*opened);
  }
  std::unique_ptr<zmq::Bound> sockets;
  if (uses_sockets(*request.experiment)) {
    zmq::TransportOptions options;
    options.run_key = request.run_key;
    options.channels = std::max(1, request.channels);
    auto bound = zmq::bind(request.rank, request.experiment->world(), request.generation, "ipc://" + socket_directory + "/data-" + std::to_string(request.rank),
                           options);
    if (!bound) return base::fail(bound.error());
    sockets = std::move(*bound);
  }
  return std::make_unique<Plane>(request, std::move(shared), std::move(sockets));
}

}  // namespace trainyard::app
