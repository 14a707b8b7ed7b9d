// SPDX-License-Identifier: GPL-3.0-or-later
// Synchronized batch normalization: in every micro-step all ranks sum the batch statistics, and
// normalize by the mean and variance over the samples of all ranks (as torch.nn.SyncBatchNorm).
#pragma once

#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// True if a batch normalization layer requests synchronization and there are several ranks.
bool synchronizes(const Resolved& experiment);

// True if running statistics of some batch normalization layer are those of a rank's own samples,
// because the layer is not synchronized.
bool has_local_statistics(const model::Model& model);

// True if the backward pass of a batch normalization layer also needs sums over ranks, that is, if
// the layer computes an input gradient.
bool sums_gradients(const model::Model& model, int segment);

// Returns the number of fp64 elements of each all-reduce of one micro-step. A batch normalization
// layer of C channels needs 2 C + 1 elements forward (sum, sum of squares, count), and 2 C backward
// if it computes an input gradient.
std::vector<std::int64_t> summed_elements(const Resolved& experiment);

// Returns the largest number of samples that a rank has in a step. It determines the number of
// micro-steps of all ranks.
std::int64_t max_samples(const data::Shares& shares, std::int64_t step);

// Returns the number of micro-steps of the full run.
std::int64_t count_micro_steps(const Resolved& experiment);

// Returns problems of layers that request synchronization where it is not possible, each at the
// layer's field.
base::Problems sync_batch_norm_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
