// SPDX-License-Identifier: GPL-3.0-or-later
// Requirements of the strategy tpu, except number formats (multiplies.h). This version emulates
// TPUs on CPU cores: results and traffic equal those of a TPU, but times do not.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// Returns a problem if a worker is not a TPU. Requires a valid drawing.
base::Problems non_tpu_problems(const topology::Topology& topology);

// Returns a problem if the all-reduce algorithm or the engine does not sum gradients along the
// torus.
base::Problems torus_problems(const StrategySpec& strategy);

// Describes the torus of these ranks (`hosts`: host of each rank): "torus: tpu sums gradients along
// the rows and columns of a torus of 2 x 4". A prime number of ranks makes one row, which is a
// ring. Needs two ranks or more.
std::string torus_text(const std::vector<int>& hosts);

}  // namespace trainyard::experiment
