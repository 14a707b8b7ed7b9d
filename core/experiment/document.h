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

// Complete form: every field, with one entry per device. Used in memory, on the wire and in the
// resolved.json of a run. `--set` and problems name values by their path in this form.
base::Json to_json(const Experiment& experiment);
// Reads the complete form, or a document of any version; accepts keys of other kinds. Checks
// syntax, unknown keys, types, ranges, and the version. Does not check meaning: see `validate`.
Checked<Experiment> from_json(const base::Json& json);

// Converts a document of any known version to kVersion (versions.h). Whatever cannot be read
// remains, for `from_json` to refuse.
void upgrade(base::Json& document);

// Text of a saved document: only values that differ from their defaults, only keys of the chosen
// kinds (core/base/field_kinds.h), and groups of equal devices (device_groups.h).
std::string to_document(const Experiment& experiment);

// Sets fields that the chosen kinds do not have to their defaults. Returns the paths of those that
// had other values.
std::vector<std::string> reset_foreign_fields(Experiment& experiment);

// Reads a file of at most 64 MiB: an experiment, or the resolved.json of a run. Refuses keys of
// other kinds. Problems name the file, or "--set" if an override is wrong. `overrides` are
// "PATH=VALUE": the value is JSON, or else plain text. Appends to `notes` what was dropped because
// an override changed a kind.
Checked<Experiment> load(const std::filesystem::path& file,
                         const std::vector<std::string>& overrides = {},
                         std::vector<std::string>* notes = nullptr);
// Writes `to_document` atomically.
base::Result<void> save(const Experiment& experiment, const std::filesystem::path& file);

// Sets a value of a document, which may leave out keys. If it is the kind of an object, drops the
// keys of the object that this kind does not have. Returns a note about the dropped keys whose
// values differed from their defaults; empty if there is none.
base::Result<std::string> apply_override(base::Json& document, const std::string& path_and_value);

// Returns the JSON Schema (draft 2020-12) of a saved document.
base::Json schema();

// Returns all problems of the document's meaning at once, each at its field. If there are none,
// `resolve` succeeds unless the data changes on disk. Relative data paths start at `directory`.
// Command line and workbench show the same list.
base::Problems validate(const Experiment& experiment, const std::filesystem::path& directory);

}  // namespace trainyard::experiment
