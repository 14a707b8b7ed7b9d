// SPDX-License-Identifier: GPL-3.0-or-later
// Order of samples of a recorded run: which rank took which sample in which step and micro-step.
#pragma once

#include <filesystem>
#include <iosfwd>

#include "core/base/result.h"

namespace trainyard::session {

// Writes the order as CSV with the columns step, micro_step, rank, position, sample. All numbers
// start at 0. `position` counts the samples of a rank in a micro-step; `sample` is the index among
// the training samples of the data set. Lines are sorted by step, micro-step, rank and position.
//
// The recording states which steps each rank completed. The samples of a step come from the sampler
// and the division into micro-steps that ranks use (data::MicroBatches). Ranks that load no samples
// have no lines, for example the middle stages of a pipeline. With data_parallel, which loads all
// samples on rank 0 and scatters them, a sample has the rank that computes with it. Ranks that
// split layers take the same samples. With vertical sharding, a rank has some columns of every
// sample, so it has a line for every sample.
//
// Returns a Problem if there is no recording, or if it lacks events.
base::Result<void> write_sample_order(const std::filesystem::path& run_directory,
                                      std::ostream& out);

}  // namespace trainyard::session
