// SPDX-License-Identifier: GPL-3.0-or-later
// Sampled values of chunks in a run. A record contains some elements of a bucket as one rank held
// them before and after a collective of one step. Only a few steps are recorded, without loss. The
// payload of a samples frame is a sequence of these records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/result.h"

namespace trainyard::telemetry {

inline constexpr std::int32_t kBeforeSteps =
    -1;  // Step number of collectives that run once before the first step.

struct ChunkValues {
  std::int32_t step = 0;  // Optimizer step, from 0.
  std::int32_t group = 0, bucket = 0;
  base::DType dtype = base::DType::fp32;
  std::int64_t elements = 0;         // Elements of the bucket.
  std::vector<std::int64_t> places;  // Indices in the bucket of the sampled elements, ascending.
  std::vector<std::byte> before,
      after;  // One number of type `dtype` per sampled element, as raw memory.
  bool operator==(const ChunkValues&) const = default;
};

// Key of a record of sampled values: the bucket of a collective, its step, and the rank.
struct ChunkValuesKey {
  std::int32_t group = 0, bucket = 0, step = 0;
  int rank = 0;
  bool operator==(const ChunkValuesKey&) const = default;
  bool operator<(const ChunkValuesKey& o) const {
    return std::tie(group, bucket, step, rank) < std::tie(o.group, o.bucket, o.step, o.rank);
  }
};

// Size of the record in bytes.
std::size_t size_of(const ChunkValues& values);
void append(const ChunkValues& values, std::vector<std::byte>& payload);
// Decodes a payload. Returns a Problem if it is malformed. Memory use is bounded by the payload's
// length.
base::Result<std::vector<ChunkValues>> chunk_values_of(std::span<const std::byte> payload);

}  // namespace trainyard::telemetry
