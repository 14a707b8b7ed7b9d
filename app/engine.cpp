// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/engine.h"

#include "app/data_plane.h"
#include "backends/gloo/gloo.h"
#include "core/topology/network.h"

namespace trainyard::app {
namespace {

// IPv4 throughout: ranks of one machine may know it by several names.
std::string address_of(const experiment::Resolved& experiment, int rank) {
  const topology::Network network(experiment.document.topology);
  const std::string& address = network.host(experiment.ranks[static_cast<std::size_t>(rank)]).address;
  return address.empty() || address == "localhost" || address == "::1" ? "127.0.0.1" : address;
}

}  // namespace

base::Result<std::unique_ptr<comm::BoundCollectives>> make_engine(const session::EngineRequest& request) {
  gloo::Options options;
  options.rank = request.rank;
  options.address = address_of(*request.experiment, request.rank);
  for (const plan::Group& group : *request.groups) options.groups.emplace_back(group.ranks.begin(), group.ranks.end());
  options.patience = patience_of(*request.experiment);
  return gloo::bind(options);
}

}  // namespace trainyard::app
