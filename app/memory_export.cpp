// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/memory_export.h"

#include <set>
#include <sstream>

#include "core/base/hex.h"
#include "core/experiment/servers.h"
#include "core/topology/network.h"

namespace trainyard::app {
namespace {

constexpr const char* kWord = "lent";

// Returns the GPU of each rank. Returns nullopt if some rank is not on a GPU, is on another host,
// or may be lost during training: its replacement would have different memory.
std::optional<std::vector<int>> gpus_of_one_host(const experiment::Resolved& e) {
  const topology::Network network(e.document.topology);
  std::vector<int> gpus;
  for (int rank = 0; rank < e.world(); ++rank) {
    const topology::Device& device = network.device(e.ranks[static_cast<std::size_t>(rank)]);
    if (!topology::is_on_gpu(device) || experiment::is_loss_allowed(e, rank)) return std::nullopt;
    gpus.push_back(static_cast<int>(device.gpu));
  }
  if (std::set(e.hosts.begin(), e.hosts.end()).size() > 1) return std::nullopt;
  return gpus;
}

struct Named {
  std::size_t from = 0, bytes = 0;
  std::string name;
};

std::optional<Named> named(const std::string& endpoint) {
  std::istringstream words(endpoint);
  std::string word, name;
  Named exported;
  if (!(words >> word >> exported.from >> exported.bytes >> name) || word != kWord)
    return std::nullopt;
  auto bytes = base::from_hex(name);
  if (!bytes) return std::nullopt;
  exported.name = std::move(*bytes);
  return exported;
}

base::Problem add_advice(base::Problem problem) {
  problem.advice =
      "Set run.transport to zmq or inproc, which do not share GPU memory between ranks.";
  return problem;
}

}  // namespace

std::string ExportedArena::endpoint() const {
  return std::string(kWord) + " " + std::to_string(from) + " " + std::to_string(bytes) + " " +
         base::to_hex(on_device.name);
}

base::Result<std::optional<ExportedArena>> export_arena(const session::DataPlaneRequest& request) {
  const std::size_t bytes = request.shared_bytes - request.shared_host_bytes;
  const auto gpus = gpus_of_one_host(*request.experiment);
  if (bytes == 0 || !gpus || request.compute == nullptr) return std::nullopt;
  return request.compute
      ->allocate_exported(static_cast<std::int64_t>(bytes), *gpus,
                          "rank " + std::to_string(request.rank))
      .map([&](compute::ExportedMemory exported) {
        return std::optional(ExportedArena{request.shared_host_bytes, bytes, std::move(exported)});
      });
}

base::Result<ImportedArenas> import_memory(const std::vector<std::string>& endpoints, int rank,
                                           const ExportedArena* own, compute::Compute& compute) {
  ImportedArenas all;
  all.arenas.resize(endpoints.size());
  for (std::size_t peer = 0; peer < endpoints.size(); ++peer) {
    if (static_cast<int>(peer) == rank) {
      if (own != nullptr) all.arenas[peer] = {own->from, {own->on_device.memory.get(), own->bytes}};
      continue;
    }
    if (endpoints[peer].empty()) continue;
    const std::string where = "memory of rank " + std::to_string(peer);
    const auto exported = named(endpoints[peer]);
    if (!exported)
      return base::fail({"bad_memory_name", base::ProblemCode::failed, where,
                         "the name of the exported memory cannot be read", "", ""});
    auto memory = compute.import_memory(exported->name, where);
    if (!memory) return base::fail(add_advice(memory.error()));
    all.arenas[peer] = {exported->from, {memory->get(), exported->bytes}};
    all.imported.push_back(std::move(*memory));
  }
  return all;
}

}  // namespace trainyard::app
