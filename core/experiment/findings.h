// SPDX-License-Identifier: GPL-3.0-or-later
// What `validate` and `resolve` share: the problems of an experiment, and the data summary that was seen on the way.
#pragma once

#include <filesystem>
#include <optional>

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

struct Findings {
  base::Problems problems;
  std::optional<data::DataSummary> data;  // absent when the data has a problem
};

// Asks the data files and this machine.
Findings examine(const Experiment& experiment, const std::filesystem::path& directory);

// Asks neither: the same answer everywhere. `data` may be null where it is not known.
base::Problems problems_of_meaning(const Experiment& experiment, const data::DataSummary* data);

}  // namespace trainyard::experiment
