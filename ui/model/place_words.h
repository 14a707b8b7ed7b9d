// SPDX-License-Identifier: GPL-3.0-or-later
// Fields, and the places that problems name by their path, as a person sees them.
#pragma once

#include <QString>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::base {
struct FieldDescription;
}

namespace trainyard::ui {

QString field_text(const char* source);                 // words of fields in the reader's language
QString label_of(const base::FieldDescription& field);  // "bucket_bytes" in B -> "Bucket"

// A problem as it was found, with places as paths, and as it is told to a person, with places as
// the forms and the drawing name them: "topology.hosts[0].devices[1].kind" is "gpu1 on host0:
// Kind", "training.optimizer.momentum" is "Training: Optimizer: Momentum". What is no place of the
// experiment stays as it is.
struct ToldProblem {
  base::Problem found, told;
  bool operator==(const ToldProblem&) const = default;
};
using ToldProblems = std::vector<ToldProblem>;

// Of this experiment, which is described for it, but once for all of them. On any thread.
ToldProblems in_words(const experiment::Experiment& experiment, const base::Problems& problems);

}  // namespace trainyard::ui
