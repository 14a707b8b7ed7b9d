// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/buckets.h"

#include "core/experiment/compression.h"
#include "core/experiment/mesh.h"
#include "core/experiment/stages.h"
#include "core/experiment/tensor.h"

namespace trainyard::experiment {

base::DType gradient_dtype(const Resolved& e) { return e.document.training.precision == Precision::fp64 ? base::DType::fp64 : base::DType::fp32; }

std::vector<Bucket> buckets(const Resolved& e) {
  std::vector<Bucket> list;
  int last = static_cast<int>(e.model.segments.size()) - 1;
  std::int64_t count = 0;
  const int first = e.model.first_with_parameters;
  for (int s = last; s >= 0; --s) {
    const model::Segment& segment = e.model.segments[static_cast<std::size_t>(s)];
    count += segment.elements;
    const bool full = s > first && count * base::size_of(gradient_dtype(e)) >= e.document.strategy.bucket_bytes;
    if (s > 0 && !full) continue;  // what lies before the first parameters goes with them
    if (count > 0) list.push_back({s, last, segment.first, count});
    last = s - 1;
    count = 0;
  }
  return list;
}

namespace {

collective::Work work_among(const Resolved& e, const Payload& payload, const std::vector<int>& ranks) {
  collective::Work work{payload.elements, static_cast<int>(base::size_of(payload.dtype)), {}, {}, payload.collective};
  for (const int rank : ranks) {
    work.devices.push_back(e.ranks[static_cast<std::size_t>(rank)]);
    work.hosts.push_back(e.hosts[static_cast<std::size_t>(rank)]);
  }
  return work;
}

// Of ranks that share layers in every micro-batch, of replicas once a step. Where replicas scatter, that decides: not every algorithm can.
collective::Work largest_in_mesh(const Resolved& e) {
  const Mesh mesh = mesh_of(e);
  const bool scatters = shards_moments(e);
  Payload layers, gradients;
  for (const LayerSum& sum : layer_sums(e)) {
    Payload payload = sum.of_sample;
    payload.elements *= e.document.training.batch_per_rank;
    if (payload.collective == collective::Collective::all_reduce && payload.bytes() >= layers.bytes()) layers = payload;
  }
  for (int rank = 0; rank < mesh.ranks() && mesh.data > 1; ++rank)
    for (const Bucket& bucket : buckets(of_rank(e, rank)))
      if (bucket.count >= gradients.elements)
        gradients = {scatters ? collective::Collective::reduce_scatter : collective::Collective::all_reduce, gradient_dtype(e), bucket.count};
  return scatters || gradients.bytes() > layers.bytes() ? work_among(e, gradients, mesh.replicas_like(0)) : work_among(e, layers, mesh.parts_with(0));
}

}  // namespace

collective::Work largest_reduction(const Resolved& e) {
  if (splits_model(e.document.strategy.kind)) return largest_in_mesh(e);
  Payload largest;
  for (const Bucket& bucket : buckets(e))
    for (const Payload& payload : payloads(e, bucket))
      if (payload.bytes() >= largest.bytes()) largest = payload;
  return {largest.elements, static_cast<int>(base::size_of(largest.dtype)), e.ranks, e.hosts, largest.collective};
}

}  // namespace trainyard::experiment
