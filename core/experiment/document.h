// SPDX-License-Identifier: GPL-3.0-or-later
// Experiment as JSON: reading, writing, overrides, validation.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

template <class T>
using Checked = tl::expected<T, base::Problems>;  // Reports all problems at once.

base::Json to_json(const Experiment& experiment);
// Checks syntax, unknown keys, types, ranges, and the version. Does not check meaning: see
// `validate`.
Checked<Experiment> from_json(const base::Json& json);

// Reads a file of at most 64 MiB: an experiment, or the resolved.json of a run. Problems name the
// file, or "--set" if an override is wrong. `overrides` are "PATH=VALUE": the value is JSON, or
// else plain text.
Checked<Experiment> load(const std::filesystem::path& file,
                         const std::vector<std::string>& overrides = {});
// Writes atomically.
base::Result<void> save(const Experiment& experiment, const std::filesystem::path& file);
base::Result<void> apply_override(base::Json& document, const std::string& path_and_value);

// Returns the JSON Schema of the full document, as in resources/schema/experiment.schema.json.
base::Json schema();

// Returns all problems of the document's meaning at once, each at its field. If there are none,
// `resolve` succeeds unless the data changes on disk. Relative data paths start at `directory`.
// Command line and workbench show the same list.
base::Problems validate(const Experiment& experiment, const std::filesystem::path& directory);

}  // namespace trainyard::experiment
