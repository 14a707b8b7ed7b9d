// SPDX-License-Identifier: GPL-3.0-or-later
// Fields, and the places that problems name by their path, as a person sees them.
#pragma once

#include <QString>

#include "core/experiment/experiment.h"

namespace trainyard::ui {

QString label_of(const base::FieldDescription& field);  // "bucket_bytes" in B -> "Bucket"

// "topology.hosts[0].devices[1].kind" -> "gpu1 on host0: Kind"; "training.optimizer.momentum" -> "Training: Optimizer: Momentum".
// What is no place of the experiment stays as it is.
QString place_words(const experiment::Experiment& experiment, const QString& path);
// A problem whose texts name places so; where it is stays a path.
base::Problem in_words(const experiment::Experiment& experiment, base::Problem problem);
base::Problems all_in_words(const experiment::Experiment& experiment, base::Problems problems);  // the same, and where they are in words too

}  // namespace trainyard::ui
