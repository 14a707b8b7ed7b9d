// SPDX-License-Identifier: GPL-3.0-or-later
// A data file read from front to back, plain or gzip (RFC 1952; told by its first two bytes, not by
// its name).
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

// Never holds more than one block of the file. Damage, truncation and bytes after the last gzip
// member are Problems that name the file; memory is bounded by what the caller asks for, whatever
// the file claims.
class ByteSource {
 public:
  static base::Result<ByteSource> open(const std::filesystem::path& path);

  // Fills `bytes` from where the last read ended. Fewer only at the end of the data.
  base::Result<std::size_t> read(std::span<std::uint8_t> bytes);

  // All that is left; a Problem where that is more than `most_bytes`.
  base::Result<std::string> read_all(std::size_t most_bytes);

  // No more than this many bytes can come out of the file: its size, or what deflate can at most
  // make of it.
  std::uint64_t most_bytes() const { return gzip_ ? size_ * kMostPerByte : size_; }

  base::Problem problem(std::string what, std::string accepted = "", std::string advice = "") const;
  base::Problem not_read() const;

 private:
  // A stored bit of deflate stands for at most 258 bytes / 2 bits: 1032 to 1 (zlib technical
  // details, "Maximum expansion factor").
  static constexpr std::uint64_t kMostPerByte = 1032;

  struct EndInflate {
    void operator()(z_stream* stream) const {
      inflateEnd(stream);
      delete stream;
    }
  };

  ByteSource(std::filesystem::path path, std::uint64_t size);
  bool refill();  // the next block, when the last is used up; false at the end of the file
  base::Result<void> sniff();
  base::Result<std::size_t> read_plain(std::span<std::uint8_t> bytes);
  base::Result<std::size_t> read_gzip(std::span<std::uint8_t> bytes);
  base::Result<void> end_member();

  std::filesystem::path path_;
  std::uint64_t size_ = 0;
  std::ifstream file_;
  std::unique_ptr<std::array<std::uint8_t, 1 << 16>> block_;
  std::span<const std::uint8_t> unused_;  // of the block
  bool gzip_ = false, ended_ = false;
  std::unique_ptr<z_stream, EndInflate> stream_;
};

// A file that is not there; `advice` says where it can be had.
base::Problem missing_file(const std::filesystem::path& path, std::string advice);

}  // namespace trainyard::data
