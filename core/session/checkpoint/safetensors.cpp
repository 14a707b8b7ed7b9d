// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/checkpoint/safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/json.h"

namespace trainyard::session {
namespace {

using base::DType;
using base::Json;
using base::Result;
using compute::Shape;

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little-endian, and tensors are written without conversion");

constexpr std::size_t kLengthBytes = 8, kMaxTensors = 50'000;
constexpr std::size_t kMaxTensorHeader = std::size_t{16} << 20;
constexpr const char* kMetadata = "__metadata__";

struct Entry {
  NamedTensor tensor;
  std::size_t begin = 0, end = 0;
};

base::Problem bad(const std::string& where, std::string what) {
  return {"bad_safetensors",
          base::ProblemCode::bad_input,
          where,
          std::move(what),
          "a safetensors file of F32 and F64 tensors",
          "Export the checkpoint again, or name another file."};
}

Json shape_json(const Shape& shape) {
  Json list = Json::array();
  for (int i = 0; i < shape.dimensions; ++i) list.push_back(shape[i]);
  return list;
}

bool is_size(const Json& value) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() <= std::uint64_t{1} << 60;
}

bool read_dtype(const Json& value, DType& dtype) {
  if (value != "F32" && value != "F64") return false;
  dtype = value == "F64" ? DType::fp64 : DType::fp32;
  return true;
}

bool read_shape(const Json& value, Shape& shape) {
  if (!value.is_array() || value.size() > shape.extents.size()) return false;
  for (const Json& extent : value) {
    if (!is_size(extent)) return false;
    shape.extents[static_cast<std::size_t>(shape.dimensions++)] = extent.get<std::int64_t>();
  }
  return true;
}

bool read_offsets(const Json& value, std::size_t data_bytes, Entry& entry) {
  if (!value.is_array() || value.size() != 2 || !is_size(value[0]) || !is_size(value[1]))
    return false;
  entry.begin = value[0].get<std::size_t>();
  entry.end = value[1].get<std::size_t>();
  return entry.begin <= entry.end && entry.end <= data_bytes;
}

// True if a tensor of this dtype and shape has exactly `bytes` bytes; safe against overflow.
bool makes(const NamedTensor& tensor, std::size_t bytes) {
  std::int64_t product = base::size_of(tensor.dtype);
  for (int i = 0; i < tensor.shape.dimensions; ++i)
    if (__builtin_mul_overflow(product, tensor.shape[i], &product)) return false;
  return static_cast<std::size_t>(product) == bytes;
}

Result<Entry> read_entry(const std::string& name, const Json& value, std::string_view data,
                         const std::string& where) {
  const auto refuse = [&](const std::string& what) {
    return base::fail(bad(where, fmt::format("tensor \"{}\" {}", name.substr(0, 80), what)));
  };
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
      !value.contains("shape") || !value.contains("data_offsets"))
    return refuse("is not described by dtype, shape and data_offsets");
  Entry entry;
  entry.tensor.name = name;
  if (!read_dtype(value["dtype"], entry.tensor.dtype)) return refuse("has an unsupported dtype");
  if (!read_shape(value["shape"], entry.tensor.shape))
    return refuse("has no shape of up to four dimensions");
  if (!read_offsets(value["data_offsets"], data.size(), entry))
    return refuse("has offsets outside the data");
  if (!makes(entry.tensor, entry.end - entry.begin))
    return refuse("has a shape that does not match its bytes");
  entry.tensor.data = std::as_bytes(std::span(data.substr(entry.begin, entry.end - entry.begin)));
  return entry;
}

bool is_metadata(const Json& value) {
  return value.is_object() &&
         std::all_of(value.begin(), value.end(), [](const Json& text) { return text.is_string(); });
}

Result<std::vector<Entry>> read_entries(const Json& header, std::string_view data,
                                        const std::string& where) {
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadata && is_metadata(value)) continue;
    auto entry = read_entry(name, value, data, where);
    if (!entry) return base::fail(entry.error());
    entries.push_back(std::move(*entry));
  }
  return entries;
}

// Sorts tensors by offset, and checks that every byte of the data belongs to exactly one tensor.
Result<std::vector<NamedTensor>> in_order(std::vector<Entry> entries, std::size_t data_bytes,
                                          const std::string& where) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::vector<NamedTensor> tensors;
  std::size_t at = 0;
  for (Entry& entry : entries) {
    if (entry.begin != at)
      return base::fail(
          bad(where, fmt::format("the data of tensors overlap or have a gap at byte {}", at)));
    at = entry.end;
    tensors.push_back(std::move(entry.tensor));
  }
  if (at != data_bytes)
    return base::fail(
        bad(where, fmt::format("the file has {} B after the last tensor", data_bytes - at)));
  return tensors;
}

}  // namespace

std::string write_safetensors(std::span<const NamedTensor> tensors) {
  Json header = Json::object();
  std::size_t at = 0;
  for (const NamedTensor& tensor : tensors) {
    const std::size_t end = at + tensor.data.size();
    // Appends to the JSON object without a search for duplicates, because tensor names are
    // distinct.
    header.get_ref<Json::object_t&>().emplace_back(
        tensor.name, Json{{"dtype", tensor.dtype == DType::fp64 ? "F64" : "F32"},
                          {"shape", shape_json(tensor.shape)},
                          {"data_offsets", {at, end}}});
    at = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes,
              ' ');  // Padding that aligns the data.
  const std::uint64_t length = text.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  file.reserve(sizeof length + text.size() + at);
  file += text;
  for (const NamedTensor& tensor : tensors)
    file.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return file;
}

Result<std::vector<NamedTensor>> read_safetensors(std::string_view file, const std::string& where) {
  std::uint64_t length = 0;
  if (file.size() < kLengthBytes) return base::fail(bad(where, "the file has less than 8 bytes"));
  std::memcpy(&length, file.data(), kLengthBytes);
  file.remove_prefix(kLengthBytes);
  if (length > file.size() || length > kMaxTensorHeader)
    return base::fail(bad(where, fmt::format("the file states a header of {} bytes", length)));
  const std::string_view text = file.substr(0, length), data = file.substr(length);
  if (!text.starts_with('{')) return base::fail(bad(where, "the header is not a JSON object"));
  return base::parse_json(text, where + ", header", kMaxTensors)
      .and_then([&](const Json& header) { return read_entries(header, data, where); })
      .and_then([&](std::vector<Entry> entries) {
        return in_order(std::move(entries), data.size(), where);
      });
}

}  // namespace trainyard::session
