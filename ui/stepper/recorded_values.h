// SPDX-License-Identifier: GPL-3.0-or-later
// Values that the ranks of a run recorded for a bucket, for the stepper. The stepper shows one
// value per chunk.
#pragma once

#include <optional>
#include <vector>

#include "core/telemetry/history.h"
#include "ui/stepper/run_collectives.h"

namespace trainyard::ui {

// One value for each member and chunk; 0 for an empty chunk. All values are representable in the
// dtype.
struct RecordedValues {
  base::DType dtype = base::DType::fp32;
  collective::Values before, after;  // values before and after the collective
  bool operator==(const RecordedValues&) const = default;
};

// Returns the training steps for which every member of the bucket's group has recorded values, in
// ascending order. For a bucket before the first step, the only element is telemetry::kBeforeSteps.
std::vector<int> recorded_steps(const telemetry::History& history, const RunBucket& bucket);

// Returns how many values were recorded of each nonempty chunk.
int recorded_elements(const telemetry::History& history, const RunBucket& bucket,
                      const collective::Exercise& exercise, int step);

// Returns one recorded value of each chunk: the value with the index `element`, from 0. Returns
// nothing if values of a member are missing, or if the recorded values do not match the chunks.
std::optional<RecordedValues> recorded_values(const telemetry::History& history,
                                              const RunBucket& bucket,
                                              const collective::Exercise& exercise, int step,
                                              int element);

}  // namespace trainyard::ui
