// SPDX-License-Identifier: GPL-3.0-or-later
// File of frames (frame.h), read through a cursor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/telemetry/frame.h"
#include "core/telemetry/recording.h"

namespace trainyard::telemetry {

class FrameFile {
 public:
  // Opens a file. Returns a Problem if it does not begin with a header of a known schema.
  static base::Result<FrameFile> open(const std::filesystem::path& path);

  // Returns the complete frame at the cursor without moving it. Returns nothing if the file has no
  // complete frame there (yet).
  base::Result<std::optional<Frame>> peek();
  void skip(const Frame& frame);  // Moves the cursor after the frame at the cursor.
  void move_to(std::uint64_t offset);
  // Reads the index, which is the last frame of a closed recording; the file ends with the frame's
  // offset and its checksum. Returns an empty list if there is no index. Moves the cursor, to the
  // index if there is one.
  std::vector<IndexEntry> read_index();

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t cursor() const { return cursor_; }  // Offset in the file.
  // Number of bytes at the cursor that are no complete frame, after `peek` returned nothing.
  std::size_t unfinished_bytes() const { return end_ - begin_; }

 private:
  FrameFile(std::filesystem::path path, base::Descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}
  base::Result<bool> fill(std::size_t needed);
  void make_room();
  base::Problem located(base::Problem problem) const;

  std::filesystem::path path_;
  base::Descriptor file_;
  // Bytes [begin, end) of the buffer were read from the file but not skipped yet.
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t cursor_ = 0;  // File offset of buffer_[begin_].
};

}  // namespace trainyard::telemetry
