// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers that a run's ranks put aside of a bucket, as the stepper plays them: one of each
// chunk.
#pragma once

#include <optional>
#include <vector>

#include "core/telemetry/history.h"
#include "ui/stepper/reduced_run.h"

namespace trainyard::ui {

// By position and chunk; of a chunk without elements 0. All are numbers of the dtype.
struct TrueValues {
  base::DType dtype = base::DType::fp32;
  collective::Values before, after;  // the collective
  bool operator==(const TrueValues&) const = default;
};

// Steps of training for which every member of the bucket's group has put its values aside,
// ascending; or telemetry::kBeforeSteps alone.
std::vector<int> kept_steps(const telemetry::History& history, const RunBucket& bucket);

// How many were put aside of every chunk that has any elements.
int kept_elements(const telemetry::History& history, const RunBucket& bucket,
                  const collective::Exercise& exercise, int step);

// The `element`-th of each chunk, from 0. Nothing where some member's values are missing, or are
// not those of such chunks.
std::optional<TrueValues> true_values(const telemetry::History& history, const RunBucket& bucket,
                                      const collective::Exercise& exercise, int step, int element);

}  // namespace trainyard::ui
