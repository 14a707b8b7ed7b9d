// SPDX-License-Identifier: GPL-3.0-or-later
// Sequential reader of a data file, plain or gzip (RFC 1952; detected by its first two bytes, not
// by its name).
#pragma once

#include <zlib.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>

#include "core/base/result.h"

namespace trainyard::data {

// Reads the file block by block, and holds at most one block. Damage, truncation and bytes after
// the last gzip member are Problems that name the file. The sizes that callers request bound the
// memory, whatever the file claims.
class ByteSource {
 public:
  static base::Result<ByteSource> open(const std::filesystem::path& path);

  // Fills `bytes` from the current position. Reads fewer bytes only at the end of the data.
  base::Result<std::size_t> read(std::span<std::uint8_t> bytes);

  // Reads all remaining data; returns a Problem if there are more than `max_bytes`.
  base::Result<std::string> read_all(std::size_t max_bytes);

  // Compressed data sets expand at most about 20 times. A file that expands more than
  // kMaxExpansion times, to more than kMinExpanded bytes, is refused while it is read.
  static constexpr std::uint64_t kMaxExpansion = 100, kMinExpanded = std::uint64_t{64} << 20;

  // Upper bound of the uncompressed size: the file size, times the maximum ratio of deflate if
  // compressed.
  std::uint64_t max_bytes() const { return gzip_ ? size_ * kMaxPerByte : size_; }

  base::Problem problem(std::string what, std::string accepted = "", std::string advice = "") const;
  base::Problem not_read() const;

 private:
  // Maximum ratio of deflate: 258 bytes from 2 bits, 1032 to 1 (zlib technical details, "Maximum
  // expansion factor").
  static constexpr std::uint64_t kMaxPerByte = 1032;

  struct EndInflate {
    void operator()(z_stream* stream) const {
      inflateEnd(stream);
      delete stream;
    }
  };

  ByteSource(std::filesystem::path path, std::uint64_t size);
  bool refill();  // Reads the next block if all bytes of the last block are used; false at the end
                  // of the file.
  base::Result<void> sniff();
  base::Result<std::size_t> read_plain(std::span<std::uint8_t> bytes);
  base::Result<std::size_t> read_gzip(std::span<std::uint8_t> bytes);
  base::Result<void> end_member();

  std::filesystem::path path_;
  std::uint64_t size_ = 0;
  std::ifstream file_;
  std::unique_ptr<std::array<std::uint8_t, 1 << 16>> block_;
  std::span<const std::uint8_t> unused_;  // Bytes of the block that were not returned yet.
  bool gzip_ = false, ended_ = false;
  std::uint64_t expanded_ = 0;  // Bytes that were decompressed.
  std::unique_ptr<z_stream, EndInflate> stream_;
};

// Returns the problem of a missing file; `advice` says where to get the file.
base::Problem missing_file(const std::filesystem::path& path, std::string advice);

}  // namespace trainyard::data
