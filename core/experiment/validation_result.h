// SPDX-License-Identifier: GPL-3.0-or-later
// An experiment's problems and the summary of its data: the result of a validation, shared by
// `validate`, `resolve` and `load`.
#pragma once

#include <filesystem>
#include <optional>

#include "core/data/shards.h"
#include "core/experiment/document.h"
#include "core/experiment/resolve.h"
#include "core/model/model.h"

namespace trainyard::experiment {

struct Findings {
  base::Problems problems;
  std::optional<data::DataSummary> data;  // Summary of the data; empty if the data has a problem.
  data::ShardTable shards;                // Samples by rank and class, as in `Resolved`.
  std::vector<Note> notes = {};           // Notes on the data files.
};

// Validates the experiment, including data files and this machine. `data_as_written` is false if
// some data settings are not those that the user wrote; model and batch are then not checked
// against the data.
Findings examine(const Experiment& experiment, const std::filesystem::path& directory,
                 bool data_as_written = true);

struct Assessment {
  base::Problems problems;
  std::vector<Note> notes;  // notes on the data files and, if there is no problem, on settings
};
// Returns the problems as `validate` does, and the notes of `resolve`.
Assessment assess(const Experiment& experiment, const std::filesystem::path& directory);

// Resolves an experiment that was examined and has no problems.
base::Result<Resolved> resolve(const Experiment& experiment, const std::filesystem::path& directory,
                               Findings findings);

// Shape of a sample as input of the model.
model::Shape sample_shape(const data::DataSummary& data);

// Returns the problems that can be found without data files or this machine, so the result is the
// same everywhere. `data` may be null if unknown.
base::Problems semantic_problems(const Experiment& experiment, const data::DataSummary* data);

// Returns a problem if a rank would own no sample. Reads no files.
base::Problems shard_problems(const Experiment& experiment, const data::ShardTable& shards);

// Returns semantic problems of a document whose fields at `refused` were rejected. In `experiment`
// these fields have their defaults. Problems that may exist only because of a default are left out.
// Also checks the data in `directory` and this machine, which may take long, unless `directory` is
// null.
base::Problems remaining_problems(const base::Problems& refused, const base::Json& written,
                                  const std::filesystem::path* directory);

// As `load` in document.h, which only reads the file. If the file is not a valid experiment, this
// function also checks data and this machine for remaining problems.
Checked<Experiment> load(const std::filesystem::path& file,
                         const std::vector<std::string>& overrides,
                         const std::filesystem::path& directory,
                         std::vector<std::string>* notes = nullptr);

}  // namespace trainyard::experiment
