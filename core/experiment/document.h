// SPDX-License-Identifier: GPL-3.0-or-later
// An experiment as JSON: reading, writing, overriding, judging.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

template <class T>
using Checked = tl::expected<T, base::Problems>;  // all problems at once

base::Json to_json(const Experiment& experiment);
// Syntax, unknown keys, types, ranges, and a version this software knows. Says nothing of meaning:
// see `validate`.
Checked<Experiment> from_json(const base::Json& json);

// A file of at most 64 MiB, or what a run made of one (resolved.json); problems name it, or "--set"
// where an override is wrong. `overrides` are "PATH=VALUE": the value is JSON, or else plain text.
Checked<Experiment> load(const std::filesystem::path& file,
                         const std::vector<std::string>& overrides = {});
base::Result<void> save(const Experiment& experiment, const std::filesystem::path& file);  // atomic
base::Result<void> apply_override(base::Json& document, const std::string& path_and_value);

// JSON Schema of the whole document, as in resources/schema/experiment.schema.json.
base::Json schema();

// Everything wrong with what the document means, at once, each at its field; empty: `resolve`
// succeeds unless the data changes on disk. `directory` is where data paths start. The same list
// feeds the command line and the workbench.
base::Problems validate(const Experiment& experiment, const std::filesystem::path& directory);

}  // namespace trainyard::experiment
