// SPDX-License-Identifier: GPL-3.0-or-later
// File access: bounded reads and atomic writes of entire files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace trainyard::base {

Result<std::string> read_file(const std::filesystem::path& path, std::size_t max_bytes);

// Returns the hash of a file's content (ContentHasher).
Result<std::string> hash_of_file(const std::filesystem::path& path);

// Returns the target of a symbolic link, so that writing keeps the link; if `path` is not a link,
// returns `path` itself.
std::filesystem::path resolve_link(const std::filesystem::path& path);

// True for a directory, a device or a named pipe, which must never be replaced by a file.
bool is_not_regular_file(const std::filesystem::path& path);

// Writes a temporary file beside the target, fsyncs it, renames it over the target and fsyncs the
// directory. After a crash the file has either the old or the new content. Permissions and symbolic
// links are kept. A Problem leaves the old content unchanged. Problems are a full disk, a read-only
// directory, and a name that is not a regular file (a directory, a device, a pipe).
Result<void> write_file_atomically(const std::filesystem::path& name, std::string_view content);

// Removes unfinished files of `write_file_atomically` from a directory tree, which killed processes
// left behind. Keeps files of processes that still run. Returns the number of removed files.
int remove_unfinished(const std::filesystem::path& directory);

// Fsyncs a directory, so that created and removed names survive a crash. Does nothing if the file
// system does not support it.
void sync_directory(const std::filesystem::path& directory);

}  // namespace trainyard::base
