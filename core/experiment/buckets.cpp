// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/buckets.h"

#include "core/experiment/compression.h"
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
    if (s > 0 && !full) continue;  // what lies before the first parameters goes with them: no bucket is empty
    list.push_back({s, last, segment.first, count});
    last = s - 1;
    count = 0;
  }
  return list;
}

collective::Work largest_reduction(const Resolved& e) {
  Payload largest;
  for (const LayerSum& sum : layer_sums(e)) {
    Payload payload = sum.of_sample;
    payload.elements *= e.document.training.batch_per_rank;
    if (payload.collective == collective::Collective::all_reduce && payload.bytes() >= largest.bytes()) largest = payload;
  }
  for (const Bucket& bucket : splits_layers(e) ? std::vector<Bucket>{} : buckets(e))
    for (const Payload& payload : payloads(e, bucket))
      if (payload.bytes() >= largest.bytes()) largest = payload;
  return {largest.elements, static_cast<int>(base::size_of(largest.dtype)), e.ranks, e.hosts, largest.collective};
}

}  // namespace trainyard::experiment
