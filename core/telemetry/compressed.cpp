// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/compressed.h"

#include <fmt/core.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>

namespace trainyard::telemetry {
namespace {

base::Problem damaged_table(std::string what) {
  return {"bad_recording", base::ProblemCode::bad_input, "recording", std::move(what), "", ""};
}

}  // namespace

void ColumnWriter::append_column(std::span<const std::byte> column, std::size_t width) {
  const std::size_t count = column.size() / width, start = bytes_.size();
  bytes_.resize(start + column.size());
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t b = 0; b < width; ++b) bytes_[start + b * count + i] = column[i * width + b];
}

// The payload begins with the expanded size (64 bits, little-endian).
std::vector<std::byte> ColumnWriter::compressed() const {
  const std::uint64_t size = bytes_.size();
  uLongf length = ::compressBound(static_cast<uLong>(size));
  std::vector<std::byte> payload(sizeof size + length);
  std::memcpy(payload.data(), &size, sizeof size);
  ::compress2(reinterpret_cast<Bytef*>(payload.data() + sizeof size), &length,
              reinterpret_cast<const Bytef*>(bytes_.data()), static_cast<uLong>(size),
              Z_BEST_SPEED);
  payload.resize(sizeof size + length);
  return payload;
}

base::Result<ColumnReader> ColumnReader::open(std::span<const std::byte> payload) {
  std::uint64_t size = 0;
  if (payload.size() < sizeof size) return base::fail(too_short());
  std::memcpy(&size, payload.data(), sizeof size);
  if (size > kMaxExpandedBytes)
    return base::fail(damaged_table(fmt::format("a table claims {} bytes", size)));
  const auto deflated = payload.subspan(sizeof size);
  ColumnReader reader;
  reader.bytes_.resize(size);
  uLongf length = static_cast<uLongf>(size);
  if (::uncompress(reinterpret_cast<Bytef*>(reader.bytes_.data()), &length,
                   reinterpret_cast<const Bytef*>(deflated.data()),
                   static_cast<uLong>(deflated.size())) != Z_OK ||
      length != size)
    return base::fail(damaged_table("a compressed table is damaged"));
  return reader;
}

base::Problem ColumnReader::too_short() {
  return damaged_table("a compressed table ends too early");
}

void ColumnReader::take_column(std::span<std::byte> column, std::size_t width) {
  const std::size_t count = column.size() / width;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t b = 0; b < width; ++b) column[i * width + b] = bytes_[next_ + b * count + i];
  next_ += column.size();
}

}  // namespace trainyard::telemetry
