// SPDX-License-Identifier: GPL-3.0-or-later
// Cache of files by content, in one directory of a machine. The file with hash H is H. While it is
// received it is H.part, which a later transfer continues. Used by one thread; several processes
// may use the directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/session/system/shared_file.h"

namespace trainyard::session {

class FileCache {
 public:
  // Space that stays free on the disk.
  static constexpr std::int64_t kSpareBytes = std::int64_t{16} << 20;

  // Before a file is received, the files that were not used for the longest time are removed, until
  // all files have at most `max_bytes`.
  FileCache(std::filesystem::path directory, std::int64_t max_bytes);
  ~FileCache();
  FileCache(const FileCache&) = delete;
  FileCache& operator=(const FileCache&) = delete;

  // Returns the path of the file if it is in the cache. A file that does not match its hash is
  // removed. The file stays in the cache as long as this object exists.
  std::optional<std::filesystem::path> find(const SharedFile& file);

  // Begins to receive a file, and returns the number of its first bytes that are here already.
  // Fails if the disk has too little space.
  base::Result<std::int64_t> begin(const SharedFile& file);
  // Appends bytes. Returns true once the file is complete; `find` then finds it. Fails, and removes
  // the bytes, if they do not match the file's hash.
  base::Result<bool> append(std::string_view bytes);

 private:
  base::Result<bool> finish();
  void remove_unused(std::int64_t bytes);
  base::Problem problem(const char* id, std::string what, std::string advice) const;

  std::filesystem::path directory_;
  std::int64_t max_bytes_;
  std::set<std::string> used_;  // names of files that this object returned
  SharedFile receiving_;
  std::filesystem::path part_;
  base::Descriptor output_;
  std::int64_t received_ = 0;
};

}  // namespace trainyard::session
