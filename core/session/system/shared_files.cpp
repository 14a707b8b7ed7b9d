// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/shared_files.h"

#include <fmt/core.h>

#include "core/base/file.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::Result;

// The paths in a document that ranks read, each with the name of its directory below the directory
// of the run's files.
std::vector<std::pair<const char*, std::string*>> paths_of(experiment::Resolved& e) {
  std::vector<std::pair<const char*, std::string*>> paths;
  data::DataSpec& data = e.document.data;
  if (data.kind == data::DataKind::idx)
    paths = {{"images", &data.images}, {"labels", &data.labels}};
  else if (data.kind == data::DataKind::csv || data.kind == data::DataKind::text)
    paths = {{"data", &data.file}};
  if (e.first_step > 0) paths.emplace_back("resume", &e.document.run.resume_from);
  return paths;
}

Result<void> add_file(std::vector<SourceFile>& files, const std::string& path,
                      const fs::path& source) {
  auto hash = base::hash_of_file(source);
  if (!hash) return base::fail(hash.error());
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(source, error));
  if (error)
    return base::fail(base::system_problem(source.string(), "cannot read the file", error.value()));
  files.push_back({{path, std::move(*hash), bytes}, source});
  return {};
}

}  // namespace

std::vector<std::string> data_paths(const data::DataSpec& data) {
  if (data.kind == data::DataKind::idx) return {data.images, data.labels};
  if (data.kind == data::DataKind::csv || data.kind == data::DataKind::text) return {data.file};
  return {};
}

Result<std::vector<SourceFile>> shared_files(const experiment::Resolved& e) {
  std::vector<SourceFile> files;
  experiment::Resolved named = e;
  for (const auto& [directory, path] : paths_of(named)) {
    const fs::path source(*path);
    const std::string name = fmt::format("{}/{}", directory, source.filename().string());
    if (path != &named.document.run.resume_from) {
      if (auto ok = add_file(files, name, source); !ok) return base::fail(ok.error());
      continue;
    }
    const std::string checkpoint = fmt::format("checkpoints/step-{}", e.first_step);
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(source / checkpoint, error))
      if (auto ok = add_file(
              files, fmt::format("{}/{}/{}", name, checkpoint, entry.path().filename().string()),
              entry.path());
          !ok)
        return base::fail(ok.error());
    if (error)
      return base::fail(base::system_problem((source / checkpoint).string(),
                                             "cannot read the checkpoint", error.value()));
  }
  return files;
}

experiment::Resolved with_files_below(const fs::path& directory, experiment::Resolved e) {
  for (const auto& [name, path] : paths_of(e))
    *path = (directory / name / fs::path(*path).filename()).string();
  return e;
}

}  // namespace trainyard::session
