// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/program_size.h"

#include <algorithm>
#include <numeric>

#include "core/experiment/fsdp.h"
#include "core/experiment/mesh.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {
namespace {

using Samples = std::vector<std::int64_t>;  // number of samples by replica

// Returns the number of samples of each micro-batch of the rank's replica. If stages are called
// remotely (rpc), the list contains the micro-batches of all replicas, interleaved.
std::vector<std::int64_t> micro_batches(const experiment::Resolved& e, int rank,
                                        const Samples& samples, std::int64_t most) {
  const experiment::Mesh mesh = experiment::mesh_of(e);
  const std::int64_t batch = e.document.training.batch_per_rank;
  const int own = mesh.place_of(rank).replica;
  std::vector<std::int64_t> list;
  for (std::int64_t first = 0; first < most; first += batch)
    for (int replica = 0; replica < mesh.data; ++replica)
      if (mesh.calls || replica == own)
        list.push_back(
            std::clamp<std::int64_t>(samples[static_cast<std::size_t>(replica)] - first, 0, batch));
  return list;
}

// Returns the number of samples of each micro-batch, summed over all replicas. Micro-batches with
// the same number in different replicas are counted together.
std::vector<std::int64_t> of_all_replicas(const experiment::Resolved& e, const Samples& samples,
                                          std::int64_t most) {
  const std::int64_t batch = e.document.training.batch_per_rank;
  std::vector<std::int64_t> list;
  for (std::int64_t first = 0; first < most; first += batch)
    list.push_back(std::accumulate(samples.begin(), samples.end(), std::int64_t{0},
                                   [&](std::int64_t sum, std::int64_t of_one) {
                                     return sum +
                                            std::clamp<std::int64_t>(of_one - first, 0, batch);
                                   }));
  return list;
}

}  // namespace

std::vector<ProgramSize> training_of(const experiment::Resolved& e, int rank) {
  const experiment::Mesh mesh = experiment::mesh_of(e);
  const experiment::MeshCoordinates at = mesh.place_of(rank);
  const data::Shares shares = e.shares();
  std::vector<ProgramSize> list;
  for (const data::StepRange& stretch : shares.stretches()) {
    Samples samples;
    samples.reserve(static_cast<std::size_t>(mesh.data));
    for (int replica = 0; replica < mesh.data; ++replica)
      samples.push_back(shares.samples(stretch.first_step, replica));
    const std::int64_t most = *std::max_element(samples.begin(), samples.end());
    list.push_back({list.empty() ? "train" : plan::Schedule::tail_name(list.size() - 1),
                    mesh.is_called(at) ? 0 : samples[static_cast<std::size_t>(at.replica)],
                    shares.global_samples(stretch.first_step), 1,
                    micro_batches(e, rank, samples, most), of_all_replicas(e, samples, most)});
  }
  return list;
}

std::vector<ProgramSize> evaluation_of(const experiment::Resolved& e, int rank) {
  const experiment::Mesh mesh = experiment::mesh_of(e);
  const experiment::MeshCoordinates at = mesh.place_of(rank);
  const bool called = mesh.is_called(at), together = experiment::shards_parameters(e);
  const std::int64_t batch = e.document.training.batch_per_rank, all = e.data.held_out_samples;
  Samples left;
  left.reserve(static_cast<std::size_t>(mesh.data));
  for (int replica = 0; replica < mesh.data; ++replica)
    left.push_back(e.held_out(mesh.rank_of({replica, 0, 0})).second);
  const auto fewest = *std::min_element(left.begin(), left.end());
  const std::int64_t& own = left[static_cast<std::size_t>(at.replica)];
  const std::int64_t rounds =
      together ? experiment::held_out_rounds(e).whole : (mesh.calls ? fewest : own) / batch;
  for (std::int64_t& samples : left) samples -= rounds * batch;
  std::vector<ProgramSize> list;
  if (rounds > 0)
    list.push_back({"evaluate", called ? 0 : batch, all, rounds,
                    micro_batches(e, rank, Samples(left.size(), batch), batch)});
  const std::int64_t most = *std::max_element(left.begin(), left.end());
  if (together ? experiment::held_out_rounds(e).rest : called ? most > 0 : own > 0)
    list.push_back({"evaluate_tail", called ? 0 : own, all, 1,
                    micro_batches(e, rank, left, mesh.calls ? most : batch)});
  return list;
}

}  // namespace trainyard::strategy
