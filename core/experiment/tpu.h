// SPDX-License-Identifier: GPL-3.0-or-later
// What the strategy tpu asks of an experiment, besides its precision (multiplies.h). This version
// emulates TPUs on CPU cores: what they compute and send is a TPU's, how long they take is not.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::experiment {

// Workers that are no TPUs, of a drawing that is sound.
base::Problems other_than_tpus(const topology::Topology& topology);

// Another way to sum gradients than along the torus.
base::Problems torus_problems(const StrategySpec& strategy);

// The torus of these ranks (rank -> its host): "torus: tpu sums gradients along the rows and
// columns of a torus of 2 x 4". A prime number of ranks makes one row, which is a ring. Two ranks
// or more.
std::string torus_in_words(const std::vector<int>& hosts);

}  // namespace trainyard::experiment
