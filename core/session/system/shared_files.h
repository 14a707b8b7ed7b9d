// SPDX-License-Identifier: GPL-3.0-or-later
// Files that the ranks of other machines read: data files, and the checkpoint from which a run
// resumes. They are identified by content. Every machine keeps them in a cache (file_cache.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/resolve.h"
#include "core/session/system/shared_file.h"

namespace trainyard::session {

// Returns the paths of the data files that a data set of this kind reads.
std::vector<std::string> data_paths(const data::DataSpec& data);

// Returns the files that the ranks of the experiment read.
base::Result<std::vector<SourceFile>> shared_files(const experiment::Resolved& e);

// Returns the experiment for a machine on which these files are below `directory`.
experiment::Resolved with_files_below(const std::filesystem::path& directory,
                                      experiment::Resolved e);

}  // namespace trainyard::session
