// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/buckets.h"

#include "core/experiment/compression.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/mesh.h"
#include "core/experiment/stages.h"
#include "core/experiment/tensor.h"
#include "core/experiment/ties.h"

namespace trainyard::experiment {

base::DType gradient_dtype(const Resolved& e) {
  return e.document.training.precision == Precision::fp64 ? base::DType::fp64 : base::DType::fp32;
}

std::vector<Bucket> buckets(const Resolved& e) {
  const std::vector<int> owners = owners_by_segment(e);
  const auto at = [](const auto& by_segment, int s) -> const auto& {
    return by_segment[static_cast<std::size_t>(s)];
  };
  std::vector<Bucket> list;
  Bucket next{0, static_cast<int>(owners.size()) - 1, 0, 0};
  for (int s = next.last_segment; s >= 0; --s) {
    const model::Segment& segment = at(e.model.segments, s);
    if (segment.elements > 0 && !segment.apart)
      next.first = segment.first, next.count += segment.elements;
    next.first_segment = s;
    const bool full = next.count * base::size_of(gradient_dtype(e)) >=
                      e.document.strategy.bucket_bytes,
               ends = s == 0 || at(owners, s - 1) != at(owners, s);
    if (!ends && !(full && next.count > 0)) continue;
    const bool goes_on = !list.empty() && list.back().first_segment == next.last_segment + 1 &&
                         at(owners, next.last_segment) == at(owners, next.last_segment + 1);
    if (next.count > 0) list.push_back(next);
    // Segments (layers or parts of layers) before the first segment with parameters are added to
    // the last bucket.
    else if (goes_on) list.back().first_segment = s;
    next = {0, s - 1, 0, 0};
  }
  return list;
}

namespace {

collective::Work work_among(const Resolved& e, const Payload& payload,
                            const std::vector<int>& ranks) {
  collective::Work work{
      payload.elements, static_cast<int>(base::size_of(payload.dtype)), {}, {}, payload.collective};
  for (const int rank : ranks) {
    work.devices.push_back(e.ranks[static_cast<std::size_t>(rank)]);
    work.hosts.push_back(e.hosts[static_cast<std::size_t>(rank)]);
  }
  for (const std::vector<int>& group : summing_groups(e.document)) {
    work.concurrent_groups.emplace_back();
    for (const int rank : group)
      work.concurrent_groups.back().push_back(e.hosts[static_cast<std::size_t>(rank)]);
  }
  return work;
}

// Returns the largest of three collectives: the sum of a layer's outputs over the ranks that split
// the layer (once per micro-batch), the sum of gradients over replicas (once per step), and the sum
// of the gradient of a table that two stages hold (once per step). A reduce-scatter of gradients
// precedes sums of outputs of any size: some algorithms do not support reduce-scatter, and the
// caller checks the algorithm for the result.
collective::Work largest_in_mesh(const Resolved& e) {
  const Mesh mesh = mesh_of(e);
  const bool scatters = shards(e);
  Payload layers, gradients, table;
  int has_most = 0;
  for (const LayerSum& sum : layer_sums(e)) {
    Payload payload = sum.of_sample;
    payload.elements *= e.document.training.batch_per_rank;
    if (payload.collective == collective::Collective::all_reduce &&
        payload.bytes() >= layers.bytes())
      layers = payload;
  }
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    const MeshCoordinates at = mesh.place_of(rank);
    if (at.replica > 0 || mesh.replicas(at.stage) < 2) continue;
    for (const Bucket& bucket : buckets(of_rank(e, rank)))
      if (bucket.count > gradients.elements) {
        gradients = {
            scatters ? collective::Collective::reduce_scatter : collective::Collective::all_reduce,
            gradient_dtype(e), bucket.count};
        has_most = rank;
      }
  }
  const std::vector<std::vector<int>> ties = tie_groups(e.document);
  if (!ties.empty())
    table = {collective::Collective::all_reduce, gradient_dtype(e),
             of_rank(e, ties.front().front()).model.segments.front().elements};
  if (table.bytes() > std::max(gradients.bytes(), layers.bytes()))
    return work_among(e, table, ties.front());
  if (gradients.elements == 0 && layers.elements == 0) return {};
  const std::vector<int> replicas = mesh.replicas_of(has_most),
                         among = scatters ? shard_groups_within(e, replicas).front() : replicas;
  return scatters || gradients.bytes() > layers.bytes()
             ? work_among(e, gradients, among)
             : work_among(e, layers, mesh.tensor_group(0));
}

}  // namespace

collective::Work largest_reduction(const Resolved& e) {
  if (splits_model(e.document.strategy.kind)) return largest_in_mesh(e);
  Payload largest;
  for (const Bucket& bucket : buckets(e))
    for (const Payload& payload : payloads(e, bucket))
      if (payload.bytes() >= largest.bytes()) largest = payload;
  return {largest.elements, static_cast<int>(base::size_of(largest.dtype)), e.ranks, e.hosts,
          largest.collective};
}

}  // namespace trainyard::experiment
