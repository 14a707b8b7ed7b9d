// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/system/run_documents.h"

#include "core/base/json.h"

namespace trainyard::session {

base::Result<experiment::Resolved> read_resolved(const std::filesystem::path& run_directory) {
  return base::read_json(run_directory / kResolvedFile).and_then([](const base::Json& json) {
    return experiment::resolved_from_json(json);
  });
}

}  // namespace trainyard::session
