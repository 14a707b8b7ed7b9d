// SPDX-License-Identifier: GPL-3.0-or-later
// Synchronised batch normalisation: in every micro-step, all ranks add up what its layers sum over
// samples, and normalise by the mean and variance over the samples of all (as
// torch.nn.SyncBatchNorm).
#pragma once

#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

// Whether a layer asks for it, and there are several ranks to do so.
bool synchronises(const Resolved& experiment);

// Whether the backward pass needs sums too: where the layer hands on a gradient.
bool sums_gradients(const model::Model& model, int segment);

// How many fp64 numbers each collective of one micro-step sums over ranks: of every such layer of C
// channels 2 C + 1 numbers forward (sum, sum of squares, count), and 2 C backward where it hands on
// a gradient.
std::vector<std::int64_t> summed_elements(const Resolved& experiment);

// Samples of the rank that takes most in a step; the step has as many micro-steps as they make, for
// all ranks.
std::int64_t most_samples(const data::Shares& shares, std::int64_t step);

// Micro-steps of the whole run.
std::int64_t count_micro_steps(const Resolved& experiment);

// Where it cannot be: at the field of each layer that asks for it.
base::Problems synchronised_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
