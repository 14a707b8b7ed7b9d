// SPDX-License-Identifier: GPL-3.0-or-later
// Labels of fields, and readable forms of the paths in problems.
#pragma once

#include <QString>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::base {
struct FieldDescription;
}

namespace trainyard::ui {

// translated text of a field; n: count for plurals
QString field_text(const char* source, int n = -1);
QString label_of(const base::FieldDescription& field);  // "bucket_bytes" in B -> "Bucket"

// A problem as found, with paths, and as shown to the user, with the labels of the forms and the
// drawing: "topology.hosts[0].devices[1].kind" becomes "gpu1 on host0: Kind",
// "training.optimizer.momentum" becomes "Training: Optimizer: Momentum". Other text is unchanged.
struct DisplayProblem {
  base::Problem found, displayed;
  bool operator==(const DisplayProblem&) const = default;
};
using DisplayProblems = std::vector<DisplayProblem>;

// Makes problems of this experiment readable. The experiment is described once for all problems.
// Thread-safe.
DisplayProblems display_problems(const experiment::Experiment& experiment,
                                 const base::Problems& problems);

}  // namespace trainyard::ui
