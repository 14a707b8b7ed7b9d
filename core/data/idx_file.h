// SPDX-License-Identifier: GPL-3.0-or-later
// Reader of one IDX file (format: idx.h), sample by sample.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/data/byte_source.h"

namespace trainyard::data {

// Element types by their code in the header. Elements are big-endian.
enum class ElementType : std::uint8_t {
  uint8 = 0x08,
  int8 = 0x09,
  int16 = 0x0B,
  int32 = 0x0C,
  float32 = 0x0D,
  float64 = 0x0E,
};

// Returns the bytes of an element; 0 if the code is unknown.
std::size_t element_bytes(std::uint8_t code);

// Returns the value of the element at `bytes`.
double element_value(ElementType type, const std::uint8_t* bytes);

// An open IDX file with a plausible header. The read position is at the first element.
struct IdxFile {
  ByteSource source;
  ElementType type = ElementType::uint8;
  std::vector<std::int64_t> extents;

  std::size_t width() const { return element_bytes(static_cast<std::uint8_t>(type)); }
  // Elements of one sample.
  std::size_t row() const { return elements() / static_cast<std::uint64_t>(extents[0]); }

  std::uint64_t elements() const {
    std::uint64_t product = 1;
    for (const std::int64_t extent : extents) product *= static_cast<std::uint64_t>(extent);
    return product;
  }
};

// Opens a file with `min_rank` to `max_rank` dimensions.
base::Result<IdxFile> open_idx_file(const std::filesystem::path& path, int min_rank, int max_rank);

// Reads all elements, sample after sample, and calls use(sample, bytes of its elements). Memory is
// independent of the file. Bytes after the last element are a Problem.
base::Result<void> read_rows(
    IdxFile& file,
    const std::function<void(std::int64_t sample, std::span<const std::uint8_t> row)>& use);

// Returns a problem if a number of a sample is not finite, or too large for fp32. `row`: bytes of
// the sample's elements.
std::optional<base::Problem> wrong_number(const IdxFile& file, std::int64_t sample,
                                          std::span<const std::uint8_t> row);

// Checks that the file is complete, and that its numbers are finite and fit into fp32. A file that
// did not change since the last check is not read again, because a workbench validates after every
// edit.
base::Result<void> check_complete(IdxFile& file, const std::filesystem::path& path);

}  // namespace trainyard::data
