// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/run_documents.h"

#include <fmt/core.h>

#include "core/base/json.h"
#include "core/telemetry/recording.h"

namespace trainyard::session {

namespace {

// Returns the copy of the resolved experiment in the header of the recording; nothing if it cannot
// be read.
std::optional<base::Json> recorded_experiment(const std::filesystem::path& run_directory) {
  auto reader = telemetry::RecordingReader::open(run_directory / telemetry::kRecordingFile);
  if (!reader) return std::nullopt;
  const auto frame = reader->next();
  if (!frame || !*frame || (*frame)->type != telemetry::FrameType::header) return std::nullopt;
  const auto header = telemetry::json_of(**frame);
  if (!header || !header->is_object() || !header->contains("experiment")) return std::nullopt;
  return header->at("experiment");
}

}  // namespace

base::Result<experiment::Resolved> read_resolved(const std::filesystem::path& run_directory) {
  std::filesystem::path path = run_directory / kResolvedFile;
  auto json = base::read_json(path);
  std::error_code error;
  if (!json && !std::filesystem::exists(path, error))
    if (auto recorded = recorded_experiment(run_directory)) {
      path = run_directory / telemetry::kRecordingFile;
      json = std::move(*recorded);
    }
  if (!json) return base::fail(json.error());
  return experiment::resolved_from_json(*json).map_error([&](base::Problem problem) {
    problem.where =
        problem.where.empty() ? path.string() : fmt::format("{}: {}", path.string(), problem.where);
    return problem;
  });
}

}  // namespace trainyard::session
