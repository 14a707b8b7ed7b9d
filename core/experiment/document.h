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
using Checked = tl::expected<T, base::Problems>;  // A value, or all problems of the input.

// Complete form: every field, with one entry per device. Used in memory, on the wire and in the
// resolved.json of a run. `--set` and problems name values by their path in this form.
base::Json to_json(const Experiment& experiment);
// Reads the complete form, or a document of any version. Accepts keys that the kind of their object
// does not have. Checks syntax, unknown keys, types, ranges and the version, but not semantics: see
// `validate`.
Checked<Experiment> from_json(const base::Json& json);

// Converts a document of any known version to kVersion (versions.h). Leaves values that it cannot
// convert unchanged, so that `from_json` reports them.
void upgrade(base::Json& document);

// Text of a saved document: only values that differ from their defaults, only keys that the kind of
// their object has (core/base/field_kinds.h), and groups of equal devices (device_groups.h).
std::string to_document(const Experiment& experiment);

// Resets every field that the kind of its object does not have to its default. Returns the paths of
// fields that had other values.
std::vector<std::string> reset_foreign_fields(Experiment& experiment);

// Reads a file of at most 64 MiB: an experiment, or the resolved.json of a run. Refuses keys that
// the kind of their object does not have. Problems name the file, or "--set" if an override is
// wrong. Each override is "PATH=VALUE", where VALUE is JSON or else plain text. If an override
// changes the kind of an object, `notes` lists the keys that were dropped.
Checked<Experiment> load(const std::filesystem::path& file,
                         const std::vector<std::string>& overrides = {},
                         std::vector<std::string>* notes = nullptr);
// Writes `to_document` atomically.
base::Result<void> save(const Experiment& experiment, const std::filesystem::path& file);

// Sets one value of a document, in which keys may be missing. If the value changes the kind of an
// object, drops the object's keys that the new kind does not have. Returns a note about dropped
// keys that had other values than their defaults; empty if there are none.
base::Result<std::string> apply_override(base::Json& document, const std::string& path_and_value);

// Returns the JSON Schema (draft 2020-12) of a saved document.
base::Json schema();

// Returns all semantic problems of the experiment, each at its field. If there are none, `resolve`
// succeeds unless the data changes on disk. Relative data paths start at `directory`. The command
// line and the workbench show the same list.
base::Problems validate(const Experiment& experiment, const std::filesystem::path& directory);

}  // namespace trainyard::experiment
