// SPDX-License-Identifier: GPL-3.0-or-later
// Whole files, safely: bounded reads and atomic writes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace trainyard::base {

Result<std::string> read_file(const std::filesystem::path& path, std::size_t maximum_bytes);

// A link is kept, and what it points to is written: that path, or `path` itself when it is no link.
std::filesystem::path behind_links(const std::filesystem::path& path);

// A directory, a device, a pipe: never to be replaced by a file.
bool is_something_else(const std::filesystem::path& path);

// Writes beside `path`, fsyncs, renames over it and fsyncs the directory: after a crash either the
// old or the new content is there, whole. Permissions are kept, and a link stays a link. A full
// disk or a read-only directory is a Problem and leaves the old content; so is a name that belongs
// to no regular file (a directory, a device, a pipe).
Result<void> write_file_atomically(const std::filesystem::path& name, std::string_view content);

// Brings names that were made or removed in it to disk, as far as the file system can.
void sync_directory(const std::filesystem::path& directory);

}  // namespace trainyard::base
