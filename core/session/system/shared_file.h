// SPDX-License-Identifier: GPL-3.0-or-later
// A file that ranks of other machines read, identified by its content.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace trainyard::session {

struct SharedFile {
  std::string path{};  // relative to the directory of the run's files on each machine
  std::string hash{};  // base::ContentHasher
  std::int64_t bytes = 0;
};

struct SourceFile {
  SharedFile file;
  std::filesystem::path source;  // on this machine
};

}  // namespace trainyard::session
