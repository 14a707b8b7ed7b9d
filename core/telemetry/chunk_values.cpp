// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/chunk_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace trainyard::telemetry {
namespace {

struct RecordHeader {
  std::int32_t step = 0, group = 0, bucket = 0;
  std::uint32_t dtype = 0;  // Value of the base::DType enum.
  std::int64_t elements = 0;
  // Number n of sampled elements. The header is followed by n indices of eight bytes, n values from
  // before the collective, and n values from after it.
  std::uint64_t places = 0;
};
static_assert(sizeof(RecordHeader) == 32);

base::Problem not_values(const char* id, const std::string& what) {
  return {id,          base::ProblemCode::bad_input,
          "recording", fmt::format("the values of chunks {}", what),
          "",          ""};
}

void append_bytes(std::span<const std::byte> bytes, std::vector<std::byte>& payload) {
  payload.insert(payload.end(), bytes.begin(), bytes.end());
}

// Fills `to` with bytes from the front of `left`, and removes these bytes from `left`.
template <class T>
void take(std::span<const std::byte>& left, std::span<T> to) {
  if (!to.empty()) std::memcpy(to.data(), left.data(), to.size_bytes());
  left = left.subspan(to.size_bytes());
}

bool are_indices_valid(const ChunkValues& values) {
  std::int64_t next = 0;
  for (const std::int64_t place : values.places) {
    if (place < next || place >= values.elements) return false;
    next = place + 1;
  }
  return true;
}

base::Result<ChunkValues> take_record(std::span<const std::byte>& left) {
  RecordHeader header;
  if (left.size() < sizeof header)
    return base::fail(not_values("values_truncated", "end too early"));
  take(left, std::span(&header, 1));
  if (header.dtype > static_cast<std::uint32_t>(base::DType::byte))
    return base::fail(not_values("unknown_dtype", "have an unknown dtype"));
  ChunkValues values{header.step,
                     header.group,
                     header.bucket,
                     static_cast<base::DType>(header.dtype),
                     header.elements,
                     {},
                     {},
                     {}};
  const auto element_bytes = static_cast<std::size_t>(base::size_of(values.dtype));
  if (header.places > left.size() / (sizeof(std::int64_t) + 2 * element_bytes))
    return base::fail(
        not_values("values_incomplete", "contain fewer values than their header states"));
  values.places.resize(header.places);
  values.before.resize(header.places * element_bytes);
  values.after.resize(values.before.size());
  take(left, std::span(values.places));
  take(left, std::span(values.before));
  take(left, std::span(values.after));
  if (!are_indices_valid(values))
    return base::fail(not_values("bad_index", "have indices outside of their bucket"));
  return values;
}

}  // namespace

std::size_t size_of(const ChunkValues& values) {
  return sizeof(RecordHeader) + values.places.size() * sizeof(std::int64_t) + values.before.size() +
         values.after.size();
}

void append(const ChunkValues& values, std::vector<std::byte>& payload) {
  const RecordHeader header{values.step,     values.group,
                            values.bucket,   static_cast<std::uint32_t>(values.dtype),
                            values.elements, values.places.size()};
  append_bytes(std::as_bytes(std::span(&header, 1)), payload);
  append_bytes(std::as_bytes(std::span(values.places)), payload);
  append_bytes(values.before, payload);
  append_bytes(values.after, payload);
}

base::Result<std::vector<ChunkValues>> chunk_values_of(std::span<const std::byte> payload) {
  std::vector<ChunkValues> list;
  while (!payload.empty()) {
    auto values = take_record(payload);
    if (!values) return base::fail(values.error());
    list.push_back(std::move(*values));
  }
  return list;
}

}  // namespace trainyard::telemetry
