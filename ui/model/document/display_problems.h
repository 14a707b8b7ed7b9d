// SPDX-License-Identifier: GPL-3.0-or-later
// Labels of fields, and readable forms of the paths that problems contain.
#pragma once

#include <QString>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::base {
struct FieldDescription;
}

namespace trainyard::ui {

// Returns the translation of a field's text. `n`: count that selects singular or plural.
QString field_text(const char* source, int n = -1);
QString label_of(const base::FieldDescription& field);  // "bucket_bytes" in B -> "Bucket"

// A problem in two forms. `found` contains paths. `displayed` contains the labels that forms and
// drawing show instead of the paths: "topology.hosts[0].devices[1].kind" becomes "gpu1 on host0:
// Kind", and "training.optimizer.momentum" becomes "Training: Optimizer: Momentum". All other text
// is equal.
struct DisplayProblem {
  base::Problem found, displayed;
  bool operator==(const DisplayProblem&) const = default;
};
using DisplayProblems = std::vector<DisplayProblem>;

// Returns the problems of an experiment in both forms. The fields of the experiment are described
// only once for all problems. Thread-safe.
DisplayProblems display_problems(const experiment::Experiment& experiment,
                                 const base::Problems& problems);

}  // namespace trainyard::ui
