// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/run_documents.h"

#include <fmt/core.h>

#include "core/base/json.h"

namespace trainyard::session {

base::Result<experiment::Resolved> read_resolved(const std::filesystem::path& run_directory) {
  const std::filesystem::path path = run_directory / kResolvedFile;
  const auto json = base::read_json(path);
  if (!json) return base::fail(json.error());
  return experiment::resolved_from_json(*json).map_error([&](base::Problem problem) {
    problem.where =
        problem.where.empty() ? path.string() : fmt::format("{}: {}", path.string(), problem.where);
    return problem;
  });
}

}  // namespace trainyard::session
