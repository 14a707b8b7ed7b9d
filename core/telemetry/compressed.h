// SPDX-License-Identifier: GPL-3.0-or-later
// Compressed payloads of frames: tables of numbers, stored by columns, then deflated (zlib, RFC
// 1950). The bytes of equal significance of a column are stored together, because the high bytes of
// neighboring numbers are mostly equal.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "core/base/result.h"

namespace trainyard::telemetry {

// Maximum number of bytes that a compressed payload may expand to.
inline constexpr std::size_t kMaxExpandedBytes = 64u << 20;

class ColumnWriter {
 public:
  template <class T>
  void append(std::span<const T> column) {
    static_assert(std::is_trivially_copyable_v<T>);
    append_column(std::as_bytes(column), sizeof(T));
  }
  std::vector<std::byte> compressed() const;  // The payload.

 private:
  void append_column(std::span<const std::byte> column, std::size_t width);
  std::vector<std::byte> bytes_;
};

class ColumnReader {
 public:
  // Expands a payload. Returns a Problem if it is damaged or too large.
  static base::Result<ColumnReader> open(std::span<const std::byte> payload);

  // Returns the next column. Returns a Problem if fewer than `count` numbers are left.
  template <class T>
  base::Result<std::vector<T>> take(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count > bytes_left() / sizeof(T)) return base::fail(too_short());
    std::vector<T> column(count);
    take_column(std::as_writable_bytes(std::span(column)), sizeof(T));
    return column;
  }
  std::size_t bytes_left() const { return bytes_.size() - next_; }

 private:
  static base::Problem too_short();
  void take_column(std::span<std::byte> column, std::size_t width);
  std::vector<std::byte> bytes_;
  std::size_t next_ = 0;
};

}  // namespace trainyard::telemetry
