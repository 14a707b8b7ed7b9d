// SPDX-License-Identifier: GPL-3.0-or-later
// True values of a run: of one collective of one step, some elements of its bucket as one rank held
// them before it and after it. A few steps of a run have them; those are lossless. The payload of a
// samples frame is such records, one after another.
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
    -1;  // in the place of a step: what comes once before the first

struct ChunkValues {
  std::int32_t step = 0;  // counts optimizer steps from 0
  std::int32_t group = 0, bucket = 0;
  base::DType dtype = base::DType::fp32;
  std::int64_t elements = 0;         // of the bucket
  std::vector<std::int64_t> places;  // elements of the bucket, ascending
  std::vector<std::byte> before,
      after;  // as they lay in memory: a number of `dtype` for each place
  bool operator==(const ChunkValues&) const = default;
};

// What of a run they are, and who held them.
struct ChunkValuesKey {
  std::int32_t group = 0, bucket = 0, step = 0;
  int rank = 0;
  bool operator==(const ChunkValuesKey&) const = default;
  bool operator<(const ChunkValuesKey& o) const {
    return std::tie(group, bucket, step, rank) < std::tie(o.group, o.bucket, o.step, o.rank);
  }
};

// Bytes of the record.
std::size_t size_of(const ChunkValues& values);
void append(const ChunkValues& values, std::vector<std::byte>& payload);
// A Problem for what cannot be a payload; it is bounded by its own length.
base::Result<std::vector<ChunkValues>> chunk_values_of(std::span<const std::byte> payload);

}  // namespace trainyard::telemetry
