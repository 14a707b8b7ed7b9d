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

// translated text of a field; n: the count that selects singular or plural
QString field_text(const char* source, int n = -1);
QString label_of(const base::FieldDescription& field);  // "bucket_bytes" in B -> "Bucket"

// A problem in two forms: as found, with paths, and as shown to the user. The shown form has the
// labels of the forms and the drawing instead of paths: "topology.hosts[0].devices[1].kind" becomes
// "gpu1 on host0: Kind", and "training.optimizer.momentum" becomes "Training: Optimizer: Momentum".
// Other text is the same.
struct DisplayProblem {
  base::Problem found, displayed;
  bool operator==(const DisplayProblem&) const = default;
};
using DisplayProblems = std::vector<DisplayProblem>;

// Makes the problems of an experiment readable. The fields of the experiment are described once for
// all problems. Thread-safe.
DisplayProblems display_problems(const experiment::Experiment& experiment,
                                 const base::Problems& problems);

}  // namespace trainyard::ui
