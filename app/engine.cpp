// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/engine.h"

#include <cstdlib>

#include "app/data_plane.h"
#include "backends/cuda/cuda.h"
#include "backends/gloo/gloo.h"
#include "backends/nccl/nccl.h"
#include "core/experiment/engine.h"
#include "core/experiment/placement.h"
#include "core/topology/network.h"

namespace trainyard::app {
namespace {

// IPv4 throughout: ranks of one machine may know it by several names.
std::string address_of(const experiment::Resolved& experiment, int rank) {
  const topology::Network network(experiment.document.topology);
  const std::string& address = network.host(experiment.ranks[static_cast<std::size_t>(rank)]).address;
  return address.empty() || address == "localhost" || address == "::1" ? "127.0.0.1" : address;
}

template <class Options>
Options options_of(const session::EngineRequest& request) {
  Options options;
  options.rank = request.rank;
  for (const plan::Group& group : *request.groups) options.groups.emplace_back(group.ranks.begin(), group.ranks.end());
  options.patience = patience_of(*request.experiment);
  return options;
}

base::Result<std::unique_ptr<comm::BoundCollectives>> bind_gloo(const session::EngineRequest& request) {
  auto options = options_of<gloo::Options>(request);
  options.address = address_of(*request.experiment, request.rank);
  return gloo::bind(options);
}

// What NCCL is told before it is opened, unless somebody said it otherwise. That it connects ranks when they join, not in the midst of a step, where they come
// to their groups each in its own order; that kernels of several groups are launched in the order of the calls; and where ranks share a GPU, that the others
// than the first are on hosts of their own, for of one host it refuses them. Those at the same place of different GPUs are on one, so that they reach each
// other as GPUs of one host do.
void prepare_nccl(const session::EngineRequest& request, const topology::Network& network) {
  const auto say = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 0); };
  say("NCCL_RUNTIME_CONNECT", "0");
  say("NCCL_LAUNCH_ORDER_IMPLICIT", "1");
  if (const int place = experiment::place_on_gpu(network, request.experiment->ranks, request.rank); place > 0)
    say("NCCL_HOSTID", "trainyard-place-" + std::to_string(place));
}

base::Result<std::unique_ptr<comm::BoundCollectives>> bind_nccl(const session::EngineRequest& request) {
  const topology::Network network(request.experiment->document.topology);
  const topology::Device& device = network.device(request.experiment->ranks[static_cast<std::size_t>(request.rank)]);
  prepare_nccl(request, network);
  return cuda::module_beside_program().and_then([&](const cuda::Module* module) {
    return module->make_streams(static_cast<int>(device.gpu)).and_then([&](std::unique_ptr<compute::Streams> streams) {
      return nccl::bind(options_of<nccl::Options>(request), std::move(streams));
    });
  });
}

}  // namespace

base::Result<std::unique_ptr<comm::BoundCollectives>> make_engine(const session::EngineRequest& request) {
  return experiment::engine_of(*request.experiment) == experiment::Engine::nccl ? bind_nccl(request) : bind_gloo(request);
}

}  // namespace trainyard::app
