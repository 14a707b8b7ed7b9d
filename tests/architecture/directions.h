// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the sources of a tree and says where they break the house rules: who may know whom, which
// libraries stay where, namespaces, license tags. Every finding is one line, "file:line: what".
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace trainyard::architecture {

using Findings = std::vector<std::string>;
using Folders = std::set<std::string>;

struct Include {
  std::size_t line = 0;  // counted from 1
  std::string target;
  bool library = false;  // in angle brackets
};

// The sources of app, core, backends and ui, as paths relative to `root`, sorted by folder.
std::vector<std::string> product_sources(const std::filesystem::path& root);
std::vector<Include> includes_of(const std::filesystem::path& root, const std::string& file);

// Folders that each folder may include directly. A folder may also use the folders that those may
// use, except backends: see `may_include`.
const std::map<std::string, Folders>& directions();

// The folder of a file in the sense of the table: "core/plan", "backends/shm", "ui/charts", "app".
// Empty: none of them.
std::string folder_of(const std::string& file);

// True if a file of `from` may include a file of `to`.
bool may_include(const std::string& from, const std::string& to);

Findings check_includes(const std::filesystem::path& root);  // of app, core, backends and ui
// The namespace of a header is named for its folder or for a folder above that one: a header in
// core/session/rank is in trainyard::session.
Findings check_namespaces(const std::filesystem::path& root);
Findings check_tags(
    const std::filesystem::path& root);  // SPDX, in every source, CMake file and script
Findings check_build_files(
    const std::filesystem::path& root);  // KNOWS in the CMake files allows no more than the table

}  // namespace trainyard::architecture
