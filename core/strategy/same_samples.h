// SPDX-License-Identifier: GPL-3.0-or-later
// The programs of ranks that may take the same samples as others, as they have but parts of the model: how many samples each takes, in micro-batches of
// training.batch_per_rank, the last of which may be shorter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"
#include "core/strategy/replica_step.h"

namespace trainyard::strategy {

struct ProgramSize {
  std::string name;
  SamplesOfStep samples;  // of the rank, or its replica
  std::int64_t all = 0, repeats = 1;
};

std::vector<ProgramSize> training_of(const experiment::Resolved& experiment, int rank);  // "train", "tail", ...
// "evaluate", of one batch, and what is left over. Where parameters are gathered for it, all take part in both.
std::vector<ProgramSize> evaluation_of(const experiment::Resolved& experiment, int rank);

std::int32_t micro_batches_of(const experiment::Resolved& experiment, std::int64_t samples);

}  // namespace trainyard::strategy
