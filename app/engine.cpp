// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/engine.h"

#include "app/data_plane.h"
#include "backends/cuda/cuda.h"
#include "backends/gloo/gloo.h"
#include "backends/nccl/nccl.h"
#include "core/experiment/engine.h"
#include "core/experiment/placement.h"
#include "core/topology/network.h"

namespace trainyard::app {
namespace {

// Returns the address of a rank's host. For local hosts, it is an IPv4 address, because one machine
// may have several host names.
std::string address_of(const experiment::Resolved& experiment, int rank) {
  const topology::Network network(experiment.document.topology);
  const std::string& address =
      network.host(experiment.ranks[static_cast<std::size_t>(rank)]).address;
  return address.empty() || address == "localhost" || address == "::1" ? "127.0.0.1" : address;
}

template <class Options>
Options options_of(const session::EngineRequest& request) {
  Options options;
  options.rank = request.rank;
  for (const plan::Group& group : *request.groups)
    options.groups.emplace_back(group.ranks.begin(), group.ranks.end());
  options.patience = patience_of(*request.experiment);
  return options;
}

base::Result<std::unique_ptr<comm::BoundCollectives>> bind_gloo(
    const session::EngineRequest& request) {
  auto options = options_of<gloo::Options>(request);
  options.address = address_of(*request.experiment, request.rank);
  return gloo::bind(options);
}

base::Result<std::unique_ptr<comm::BoundCollectives>> bind_nccl(
    const session::EngineRequest& request) {
  const topology::Network network(request.experiment->document.topology);
  const topology::Device& device =
      network.device(request.experiment->ranks[static_cast<std::size_t>(request.rank)]);
  return cuda::module_beside_program().and_then([&](const cuda::Module* module) {
    return module->make_streams(static_cast<int>(device.gpu))
        .and_then([&](std::unique_ptr<compute::Streams> streams) {
          return nccl::bind(options_of<nccl::Options>(request), std::move(streams));
        });
  });
}

}  // namespace

// Environment variables for NCCL and CUDA.
//
// NCCL_RUNTIME_CONNECT=0        Connects all ranks of a group when they join. Later, ranks
//                               reach their groups in different orders.
// NCCL_LAUNCH_ORDER_IMPLICIT=1  Launches kernels of several groups in the order of calls.
// CUDA_MODULE_LOADING=EAGER     Loads kernels at the start of the process. Lazy loading
//                               would wait for the GPU, and thereby for a peer (NCCL User
//                               Guide, "CUDA Module Loading").
// CUDA_DEVICE_MAX_CONNECTIONS   One hardware queue per stream, up to 32, so that no stream
//                               waits behind one that waits for a peer.
// NCCL_HOSTID                   If ranks share a GPU, all but the first get another host
//                               id, because NCCL refuses ranks of one host on one GPU.
//                               Ranks at the same index on different GPUs share a host id,
//                               so that they communicate as GPUs of one host.
std::vector<std::string> engine_settings(const experiment::Resolved& experiment, int rank) {
  if (experiment::engine_of(experiment) != experiment::Engine::nccl) return {};
  std::vector<std::string> settings{"NCCL_RUNTIME_CONNECT=0", "NCCL_LAUNCH_ORDER_IMPLICIT=1",
                                    "CUDA_MODULE_LOADING=EAGER", "CUDA_DEVICE_MAX_CONNECTIONS=32"};
  if (const int place = experiment::index_on_gpu(topology::Network(experiment.document.topology),
                                                 experiment.ranks, rank);
      place > 0)
    settings.push_back("NCCL_HOSTID=trainyard-place-" + std::to_string(place));
  return settings;
}

base::Result<std::unique_ptr<comm::BoundCollectives>> make_engine(
    const session::EngineRequest& request) {
  return experiment::engine_of(*request.experiment) == experiment::Engine::nccl
             ? bind_nccl(request)
             : bind_gloo(request);
}

}  // namespace trainyard::app
