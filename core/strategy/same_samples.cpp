// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/same_samples.h"

#include <algorithm>

#include "core/experiment/mesh.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {
namespace {

// Of samples by replica: those of the rank's own, or where replicas call, of all in turn. An earlier replica has no fewer than a later one.
std::vector<std::int64_t> micro_batches(const std::vector<std::int64_t>& samples, std::int64_t batch, int own, bool calls) {
  std::vector<std::int64_t> list;
  for (std::int64_t first = 0;; first += batch) {
    const auto before = list.size();
    for (int replica = calls ? 0 : own, end = calls ? static_cast<int>(samples.size()) : own + 1; replica < end; ++replica)
      if (const std::int64_t left = samples[static_cast<std::size_t>(replica)] - first; left > 0) list.push_back(std::min(batch, left));
    if (list.size() == before) return list;
  }
}

// Of a program of so many samples by replica.
ProgramSize size_of(const experiment::Resolved& e, int rank, std::string name, const std::vector<std::int64_t>& samples, std::int64_t all,
                    std::int64_t repeats = 1) {
  const experiment::Mesh mesh = experiment::mesh_of(e);
  const experiment::MeshPlace at = mesh.place_of(rank);
  return {std::move(name), mesh.is_called(at) ? 0 : samples[static_cast<std::size_t>(at.replica)], all, repeats,
          micro_batches(samples, e.document.training.batch_per_rank, at.replica, mesh.calls)};
}

}  // namespace

std::vector<ProgramSize> training_of(const experiment::Resolved& e, int rank) {
  const data::Shares shares = e.shares();
  std::vector<ProgramSize> list;
  for (const data::Stretch& stretch : shares.stretches()) {
    std::vector<std::int64_t> samples;
    samples.reserve(static_cast<std::size_t>(shares.ranks()));
    for (std::int64_t replica = 0; replica < shares.ranks(); ++replica) samples.push_back(shares.samples(stretch.first_step, replica));
    list.push_back(size_of(e, rank, list.empty() ? "train" : plan::Schedule::tail_name(list.size() - 1), samples, shares.global_samples(stretch.first_step)));
  }
  return list;
}

std::vector<ProgramSize> evaluation_of(const experiment::Resolved& e, int rank) {
  const experiment::Mesh mesh = experiment::mesh_of(e);
  const std::int64_t batch = e.document.training.batch_per_rank, all = e.data.held_out_samples;
  std::vector<std::int64_t> left;  // by replica
  left.reserve(static_cast<std::size_t>(mesh.data));
  for (int replica = 0; replica < mesh.data; ++replica) left.push_back(e.held_out(mesh.rank_of({replica, 0, 0})).second);
  const std::int64_t rounds = (mesh.calls ? left.back() : left[static_cast<std::size_t>(mesh.place_of(rank).replica)]) / batch;
  for (std::int64_t& samples : left) samples -= rounds * batch;
  std::vector<ProgramSize> list;
  if (rounds > 0) list.push_back(size_of(e, rank, "evaluate", std::vector<std::int64_t>(left.size(), batch), all, rounds));
  ProgramSize tail = size_of(e, rank, "evaluate_tail", left, all);
  if (tail.samples > 0 || (mesh.is_called(mesh.place_of(rank)) && tail.count() > 0)) list.push_back(std::move(tail));
  return list;
}

}  // namespace trainyard::strategy
