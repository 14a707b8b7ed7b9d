// SPDX-License-Identifier: GPL-3.0-or-later
// What `validate`, `resolve` and `load` share: the problems of an experiment, and the data summary that was seen on the way.
#pragma once

#include <filesystem>
#include <optional>

#include "core/experiment/document.h"

namespace trainyard::experiment {

struct Findings {
  base::Problems problems;
  std::optional<data::DataSummary> data;  // absent when the data has a problem
};

// Asks the data files and this machine. Data that is not quite what was asked for (`data_as_written` is false) judges no model and no batch.
Findings examine(const Experiment& experiment, const std::filesystem::path& directory, bool data_as_written = true);

// Asks neither: the same answer everywhere. `data` may be null where it is not known.
base::Problems problems_of_meaning(const Experiment& experiment, const data::DataSummary* data);

// Of a document that was read, but for the fields at which `refused` stands: what is wrong with the meaning of the rest. Those
// fields hold their defaults, which nobody wrote, so nothing is said that comes of a default alone. Asks the data in `directory`
// and this machine, which may take long; where that is null, neither.
base::Problems problems_besides(const base::Problems& refused, const base::Json& written, const std::filesystem::path* directory);

// As the other `load`, which reads the file alone; when that cannot be an experiment, this one asks the data and this machine too.
Checked<Experiment> load(const std::filesystem::path& file, const std::vector<std::string>& overrides, const std::filesystem::path& directory);

}  // namespace trainyard::experiment
