// SPDX-License-Identifier: GPL-3.0-or-later
// What `validate`, `resolve` and `load` share: the problems of an experiment, and what of the data
// was seen on the way.
#pragma once

#include <filesystem>
#include <optional>

#include "core/data/shards.h"
#include "core/experiment/document.h"
#include "core/model/model.h"

namespace trainyard::experiment {

struct Findings {
  base::Problems problems;
  std::optional<data::DataSummary> data;  // absent when the data has a problem
  data::ShardTable shards;                // as in `Resolved`
};

// Asks the data files and this machine. Data that is not quite what was asked for
// (`data_as_written` is false) judges no model and no batch.
Findings examine(const Experiment& experiment, const std::filesystem::path& directory,
                 bool data_as_written = true);

// As the model takes them.
model::Shape sample_shape(const data::DataSummary& data);

// Asks neither: the same answer everywhere. `data` may be null where it is not known.
base::Problems problems_of_meaning(const Experiment& experiment, const data::DataSummary* data);

// A rank that would own no sample; pure.
base::Problems shard_problems(const Experiment& experiment, const data::ShardTable& shards);

// Of a document that was read, but for the fields at which `refused` stands: what is wrong with the
// meaning of the rest. Those fields hold their defaults, which nobody wrote, so nothing is said
// that comes of a default alone. Asks the data in `directory` and this machine, which may take
// long; where that is null, neither.
base::Problems problems_besides(const base::Problems& refused, const base::Json& written,
                                const std::filesystem::path* directory);

// As the other `load`, which reads the file alone; when that cannot be an experiment, this one asks
// the data and this machine too.
Checked<Experiment> load(const std::filesystem::path& file,
                         const std::vector<std::string>& overrides,
                         const std::filesystem::path& directory);

}  // namespace trainyard::experiment
