// SPDX-License-Identifier: GPL-3.0-or-later
// Values of a bucket that the ranks of a run recorded, one per chunk, for the stepper.
#pragma once

#include <optional>
#include <vector>

#include "core/telemetry/history.h"
#include "ui/stepper/run_collectives.h"

namespace trainyard::ui {

// Values by position and chunk; 0 for empty chunks. All are representable in the dtype.
struct RecordedValues {
  base::DType dtype = base::DType::fp32;
  collective::Values before, after;  // values before and after the collective
  bool operator==(const RecordedValues&) const = default;
};

// Returns the training steps for which every member of the bucket's group has recorded values, in
// ascending order. For a bucket before the first step, the only element is telemetry::kBeforeSteps.
std::vector<int> recorded_steps(const telemetry::History& history, const RunBucket& bucket);

// Returns the number of recorded values of each nonempty chunk.
int recorded_elements(const telemetry::History& history, const RunBucket& bucket,
                      const collective::Exercise& exercise, int step);

// Returns the value number `element` (from 0) of each chunk. Returns nothing if values of a member
// are missing, or if they do not match the chunks.
std::optional<RecordedValues> recorded_values(const telemetry::History& history,
                                              const RunBucket& bucket,
                                              const collective::Exercise& exercise, int step,
                                              int element);

}  // namespace trainyard::ui
