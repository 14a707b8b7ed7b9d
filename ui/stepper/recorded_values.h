// SPDX-License-Identifier: GPL-3.0-or-later
// Values of a bucket recorded by a run's ranks, for the stepper: one per chunk.
#pragma once

#include <optional>
#include <vector>

#include "core/telemetry/history.h"
#include "ui/stepper/run_collectives.h"

namespace trainyard::ui {

// Values by position and chunk; 0 for empty chunks. All are representable in the dtype.
struct RecordedValues {
  base::DType dtype = base::DType::fp32;
  collective::Values before, after;  // before and after the collective
  bool operator==(const RecordedValues&) const = default;
};

// Returns the training steps for which every member of the bucket's group has recorded values, in
// ascending order; or only telemetry::kBeforeSteps.
std::vector<int> recorded_steps(const telemetry::History& history, const RunBucket& bucket);

// Returns the number of recorded values of each nonempty chunk.
int recorded_elements(const telemetry::History& history, const RunBucket& bucket,
                      const collective::Exercise& exercise, int step);

// Returns the `element`-th value of each chunk, from 0. Nothing if a member's values are missing or
// do not match the chunks.
std::optional<RecordedValues> recorded_values(const telemetry::History& history,
                                              const RunBucket& bucket,
                                              const collective::Exercise& exercise, int step,
                                              int element);

}  // namespace trainyard::ui
