// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/strategy/compression.h"

#include "core/collective/algorithm.h"
#include "core/experiment/compression.h"
#include "core/model/power_sgd.h"

namespace trainyard::strategy {
namespace {

using compute::compression::Scheme;
using plan::Access;
using plan::Op;
using plan::OpKind;

const experiment::CompressionSpec& spec_of(const Replica& r) {
  return r.resolved.document.strategy.compression;
}
const Bucket& bucket_of(const Replica& r, std::int32_t number) {
  return r.buckets[static_cast<std::size_t>(number)];
}
const std::vector<Encoded>& encoded_of(const Replica& r, std::int32_t bucket) {
  return r.compression.encoded[static_cast<std::size_t>(bucket)];
}

Access part_of(const Access& flat, const Bucket& bucket) {
  return {flat.buffer, bucket.first, bucket.count};
}

// Returns the bucket's span in a power_sgd buffer, which contains the spans of all buckets in
// order. Each span has the length of the payload in the bucket's collective number `stage`.
Access beside(const Replica& r, const Access& all, std::int32_t bucket, std::size_t stage) {
  Access part{all.buffer, 0, 0};
  for (std::int32_t b = 0; b <= bucket; ++b) {
    part.first += part.count;
    part.count = stage < encoded_of(r, b).size() ? encoded_of(r, b)[stage].whole.count : 0;
  }
  return part;
}

Access local_part(const experiment::Payload& payload, const Access& whole, std::int32_t rank,
                  int world) {
  if (payload.collective != collective::Collective::all_gather) return whole;
  const auto [first, count] = collective::part(whole.count, world, rank);
  return {whole.buffer, whole.first + first, count};
}

// Returns the cost of encoding as an equivalent number of flops: the flops of matrix products that
// a core executes in the time of the encoding. Counting the arithmetic of the encoding itself would
// be too low, because rounding and selection take longer. A device drawn n times slower then also
// encodes n times slower. Measured by tests/bench/compression_bench.cpp with 100,000 numbers in
// cache, on one core of a 2024 server: most schemes take 1 to 2 ns per number. A core executes 240
// flops per ns in large products, and about half of that in small models. One ns counts as 120
// flops, because the simulator assumes peak speed for all products.
std::int64_t encoding_flops(const experiment::CompressionSpec& spec, std::int64_t elements) {
  const std::int64_t k = compute::compression::kept(spec, elements);
  switch (spec.kind) {
    case Scheme::fp16: return 155 * elements;
    case Scheme::bf16: return 70 * elements;
    case Scheme::int8: return 92 * elements;
    case Scheme::sign: return 88 * elements;
    case Scheme::top_k: return 245 * elements + 500 * k;
    // random_k spends most of the time on drawing the positions of the kept elements
    case Scheme::random_k: return 62 * elements + 2100 * k;
    case Scheme::power_sgd: return (50 + 22 * spec.rank) * elements;
    case Scheme::none: break;
  }
  return 0;
}

// Returns the cost of decoding as an equivalent number of flops, like the cost of encoding.
// `parts`: number of gathered encodings that are summed.
std::int64_t decoding_flops(const experiment::CompressionSpec& spec, std::int64_t elements,
                            std::int64_t parts) {
  const std::int64_t k = compute::compression::kept(spec, elements);
  switch (spec.kind) {
    case Scheme::fp16: return 48 * elements;
    case Scheme::bf16: return 5 * elements;
    case Scheme::int8: return 14 * elements * parts;
    case Scheme::sign: return 36 * elements * parts;
    case Scheme::top_k: return 5 * elements + 55 * k * parts;
    case Scheme::random_k: return 5 * elements + 2100 * k;
    case Scheme::power_sgd: return (120 + 22 * spec.rank) * elements;
    case Scheme::none: break;
  }
  return 0;
}

std::int64_t elements_of_stage(const CompressionBuffers& c, std::size_t stage) {
  std::int64_t elements = 0;
  for (const auto& of_bucket : c.encoded)
    elements += stage < of_bucket.size() ? of_bucket[stage].whole.count : 0;
  return elements;
}

void read_step(const Replica& r, Op& op) {
  if (spec_of(r).kind == Scheme::random_k) op.reads.push_back({r.buffers.rate.buffer, 1, 1});
}

}  // namespace

CompressionBuffers compression_buffers(const experiment::Resolved& e, std::int32_t rank,
                                       const std::vector<Bucket>& buckets,
                                       std::vector<plan::Buffer>& list) {
  const auto add = [&](std::string name, base::DType type, std::int64_t count,
                       bool shared = false) {
    list.push_back({std::move(name), type, count, shared});
    return Access{plan::BufferId(list.size() - 1), 0, count};
  };
  const experiment::CompressionSpec& spec = e.document.strategy.compression;
  CompressionBuffers b;
  if (compute::compression::feeds_back(spec))
    b.residual = add("residual", base::DType::fp32, e.model.elements);
  b.squared_errors =
      add("squared_errors", base::DType::fp64, static_cast<std::int64_t>(buckets.size()));
  Access end = add("encoded", compute::compression::wire_dtype(spec.kind), 0, true);
  b.encoded.resize(buckets.size());
  std::int32_t number = 0;
  for (std::size_t stage = 0; stage < 2; ++stage)
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const auto payloads = experiment::payloads(e, buckets[i]);
      if (stage >= payloads.size()) continue;
      const bool gathers = payloads[stage].collective == collective::Collective::all_gather;
      const Access whole{end.buffer, end.first, payloads[stage].elements};
      b.encoded[i].push_back({number++, gathers ? OpKind::all_gather : OpKind::all_reduce, whole,
                              local_part(payloads[stage], whole, rank, e.world())});
      end.first += whole.count;
    }
  list[end.buffer.index()].elements = end.first;
  if (const std::int64_t right = elements_of_stage(b, 1); right > 0) {
    b.guess = add("guess", base::DType::fp32, right);
    b.basis = add("basis", base::DType::fp32, elements_of_stage(b, 0));
  }
  return b;
}

Op encode(const Replica& r, std::int32_t bucket, std::size_t stage) {
  const CompressionBuffers& c = r.compression;
  const auto& encoded = encoded_of(r, bucket);
  const Access gradient = part_of(r.buffers.gradients, bucket_of(r, bucket)),
               residual = part_of(c.residual, bucket_of(r, bucket));
  const bool low_rank = spec_of(r).kind == Scheme::power_sgd;
  Op op;
  op.kind = OpKind::encode;
  op.bucket = encoded[stage].number;
  op.flops = encoding_flops(spec_of(r), bucket_of(r, bucket).count);
  if (stage == 1) {
    op.reads = {residual.buffer.valid() ? residual : gradient, encoded[0].whole};
    op.writes = {beside(r, c.basis, bucket, 0), encoded[1].own};
    return op;
  }
  op.reads = {gradient};
  if (residual.buffer.valid()) {
    op.reads.push_back(residual);
    op.writes.push_back(residual);
  }
  if (low_rank && encoded.size() > 1) op.reads.push_back(beside(r, c.guess, bucket, 1));
  op.writes.push_back(encoded[0].own);
  if (!low_rank) op.writes.push_back({c.squared_errors.buffer, bucket, 1});
  read_step(r, op);
  return op;
}

Op decode(const Replica& r, std::int32_t bucket) {
  const CompressionBuffers& c = r.compression;
  const auto& encoded = encoded_of(r, bucket);
  const Access gradient = part_of(r.buffers.gradients, bucket_of(r, bucket)),
               residual = part_of(c.residual, bucket_of(r, bucket));
  Op op;
  op.kind = OpKind::decode;
  op.bucket = encoded[0].number;
  op.flops = decoding_flops(spec_of(r), bucket_of(r, bucket).count, r.resolved.world());
  for (const Encoded& one : encoded) op.reads.push_back(one.whole);
  op.writes = {gradient};
  read_step(r, op);
  if (spec_of(r).kind != Scheme::power_sgd) return op;
  op.writes.push_back({c.squared_errors.buffer, bucket, 1});
  if (residual.buffer.valid()) {
    op.reads.push_back(residual);
    op.writes.push_back(residual);
  } else {
    op.reads.push_back(gradient);
  }
  if (encoded.size() < 2) return op;
  op.reads.push_back(beside(r, c.basis, bucket, 0));
  op.writes.push_back(beside(r, c.guess, bucket, 1));
  return op;
}

}  // namespace trainyard::strategy
