// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/paths.h"

#include <cstdlib>

namespace trainyard::app {
namespace {

namespace fs = std::filesystem;

fs::path existing_or_empty(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_directory(directory, ignored) ? directory : fs::path{};
}

// Searches `at` and its ancestors for the directory resources/`name`. It finds the source tree if
// the program was built in build/PRESET/bin of that tree.
fs::path in_source_tree(fs::path at, const char* name) {
  for (; at.has_relative_path(); at = at.parent_path())
    if (fs::path found = existing_or_empty(at / "resources" / name); !found.empty()) return found;
  return {};
}

fs::path resource_directory(const char* name) {
  if (const char* resources = std::getenv("TRAINYARD_RESOURCES");
      resources != nullptr && *resources != '\0')
    return existing_or_empty(fs::path(resources) / name);
  const fs::path programs = program_directory();
  if (fs::path installed = existing_or_empty(programs.parent_path() / "share" / "trainyard" / name);
      !installed.empty())
    return installed;
  return in_source_tree(programs, name);
}

}  // namespace

fs::path program_directory() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path{} : program.parent_path();
}

fs::path examples_directory() { return resource_directory("experiments"); }
fs::path manual_directory() { return resource_directory("manual"); }

}  // namespace trainyard::app
